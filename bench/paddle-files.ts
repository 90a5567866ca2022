/**
 * @file Paddle's table files: rows a minute saved and loaded by one server; with PYTHON (that has paddlepaddle 2.6.2), a table
 * that Paddle itself trained and wrote, loaded here and held to Paddle's own predictions. `paddle-files.ts ROWS [PYTHON]`
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { loadConfig } from '../src/base/config/index.ts'
import { openExport, rawColumns, Scorer } from '../src/inference/export/index.ts'
import { convertModel } from '../src/training/driver/index.ts'
import { optimizer } from '../src/weights/optim/index.ts'
import { createLocalParams, LocalParams, loadPaddleModel, savePaddleModel } from '../src/weights/params/index.ts'
import { at, scratch } from './tools.ts'

const [rows, python] = [Number(process.argv[2] ?? 2_000_000), process.argv[3]]
const DIM = 9
const RULE = 'SparseAdaGradSGDRule'
const ACCESSOR = { embed_sgd_param: { name: RULE }, embedx_sgd_param: { name: RULE } } as const
const print = (figure: object) => console.log(JSON.stringify(figure))

await ownTable('text', false)
await ownTable('gzip', true)
if (python) await paddlesTable(python)

/** A table as a server holds it, saved and loaded again. */
async function ownTable(form: string, compress: boolean): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-bench-'))
  try {
    const saved = filledTable()
    const save = await seconds(() => savePaddleModel(saved, { folder, compress }))
    const loaded = openTable()
    const load = await seconds(() => loadPaddleModel(loaded, { folder }))
    const minute = (took: number) => Math.round((60 * rows) / took)
    print({ what: form, rows, saveRowsPerMinute: minute(save), loadRowsPerMinute: minute(load) })
    if (loaded.tables[0]!.rowCount !== rows) throw new Error(`${loaded.tables[0]!.rowCount} rows came back`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function openTable(): LocalParams {
  const program = {
    feeds: [],
    rows: [],
    nodes: [],
    fetches: [],
    parameters: [],
    state: [],
    tables: [{ name: 'embedding', dim: DIM, init: { kind: 'uniform', low: -1, high: 1 } as const }],
  }
  const tableParameters = { embedding: { accessor: ACCESSOR } }
  const options = { program, tableParameters, optimizer: optimizer.adam(), seed: 1, threads: 1, segments: 1 }
  return new LocalParams(createLocalParams(options), 0)
}

function filledTable(): LocalParams {
  const params = openTable()
  const [BATCH, table] = [8192, params.tables[0]!]
  const gradients = Float32Array.from({ length: BATCH * DIM }, (_, i) => Math.sin(i))
  const shown = Float32Array.from({ length: BATCH * 3 }, (_, i) => (i % 3 === 1 ? 1 : 0))
  for (let first = 0, step = 1; first < rows; first += BATCH) {
    const n = Math.min(BATCH, rows - first)
    const signs = BigUint64Array.from(
      { length: n },
      (_, i) => (BigInt(first + i) * 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn,
    )
    const part = { gradients: gradients.subarray(0, n * DIM), showClick: shown.subarray(0, 3 * n) }
    // Twice: the first push makes the other weights, the second moves them.
    for (let time = 0; time < 2; time++, step++)
      table.push({ signs, lengths: Uint32Array.of(n) }, { ...part, samples: 1, step })
  }
  return params
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}

interface Prediction {
  readonly signs: readonly string[]
  readonly dense: readonly number[]
  readonly score: number
}

/** Trained and saved by Paddle, which then loads its files anew and predicts; loaded and predicted here. */
async function paddlesTable(python: string): Promise<void> {
  const SLOTS = 26
  const sizes = [512, 256, 128, 32]
  const out = scratch(`paddle-tables-${rows}`)
  const settings = {
    out,
    samples: Math.ceil(rows / SLOTS),
    batch: 512,
    slots: SLOTS,
    dim: DIM,
    dense: 13,
    sizes,
    seed: 7,
    predict_seed: 7,
    signs: 4_000_000_000,
    shards: 1000,
    compress: true,
    rule: RULE,
    threshold: 0,
    mode: 0,
    predictions: 512,
    epochs: 1,
  }
  if (!existsSync(join(out, 'predictions.json'))) {
    rmSync(out, { recursive: true, force: true })
    mkdirSync(out, { recursive: true })
    writeFileSync(join(out, 'settings.json'), JSON.stringify(settings))
    for (const phase of ['train', 'predict']) runPaddle(python, phase, out)
  }
  const config = join(out, 'config.yaml')
  writeFileSync(config, configText(SLOTS, sizes))
  writeFileSync(join(out, 'model.ts'), readFileSync(at('models', 'rank', 'dnn', 'model.ts')))
  const exported = join(out, 'export')
  const events: { readonly kind: string; readonly seconds?: number | undefined }[] = []
  const count = await convertModel({
    config: loadConfig({ path: config, cwd: out }),
    from: join(out, 'plugin'),
    to: exported,
    as: 'export',
    emit: (event) => events.push(event),
  })
  const loadSeconds = events.find(({ kind }) => kind === 'loaded')?.seconds ?? 0
  const predictions = JSON.parse(readFileSync(join(out, 'predictions.json'), 'utf8')) as Prediction[]
  const largest = await largestDifference(exported, predictions)
  print({
    what: 'written by paddle 2.6.2',
    rows: count,
    loadRowsPerMinute: Math.round((60 * count) / loadSeconds),
    predictions: predictions.length,
    largestDifference: largest,
    same: largest < 1e-5,
  })
  if (!(largest < 1e-5)) throw new Error(`predictions differ by ${largest}`)
  await backToPaddle(python, out, config, predictions)
}

/** The way back: Paddle loads the files that were written here, and predicts as before. */
async function backToPaddle(python: string, out: string, config: string, before: readonly Prediction[]): Promise<void> {
  const back = join(out, 'back')
  rmSync(back, { recursive: true, force: true })
  const plugin = join(back, 'plugin')
  await convertModel({
    config: loadConfig({ path: config, cwd: out }),
    from: join(out, 'plugin'),
    to: plugin,
    as: 'paddle',
    servers: 2,
    emit: () => undefined,
  })
  // Paddle finds dense weights by its own names.
  rmSync(join(plugin, 'dnn_plugin'), { recursive: true })
  cpSync(join(out, 'plugin', 'dnn_plugin'), join(plugin, 'dnn_plugin'), { recursive: true })
  const settings = JSON.parse(readFileSync(join(out, 'settings.json'), 'utf8')) as object
  writeFileSync(join(back, 'settings.json'), JSON.stringify({ ...settings, out: back }))
  runPaddle(python, 'predict', back)
  const after = JSON.parse(readFileSync(join(back, 'predictions.json'), 'utf8')) as Prediction[]
  const largest = Math.max(...before.map(({ score }, i) => Math.abs(score - after[i]!.score)))
  print({ what: 'written here, read by paddle 2.6.2', rows, largestDifference: largest, same: largest < 1e-5 })
  if (!(largest < 1e-5)) throw new Error(`Paddle's predictions from our files differ by ${largest}`)
}

function runPaddle(python: string, phase: string, out: string): void {
  const script = at('test', 'paddle-files', 'paddle_tables.py')
  const servers = ['--worker_num=1', '--server_num=2']
  const args = [...servers, script, phase, join(out, 'settings.json')]
  const { status, stderr } = spawnSync(join(dirname(python), 'fleetrun'), args, { cwd: out, encoding: 'utf8' })
  if (status !== 0) throw new Error(`fleetrun ended with ${status}: ${stderr.slice(-2000)}`)
}

function configText(slots: number, sizes: readonly number[]): string {
  return `runner:
  train_data_dir: none
  train_batch_size: 512
  model_save_path: ""
hyper_parameters:
  sparse_inputs_slots: ${slots + 1}
  sparse_feature_dim: ${DIM}
  dense_input_dim: 13
  fc_sizes: [${sizes.join(', ')}]
table_parameters:
  embedding:
    accessor: { embed_sgd_param: { name: ${RULE} }, embedx_sgd_param: { name: ${RULE} } }
`
}

async function largestDifference(exported: string, predictions: readonly Prediction[]): Promise<number> {
  const scorer = await Scorer.open(await openExport(exported))
  try {
    const instances = predictions.map(({ signs, dense }) => ({
      ...Object.fromEntries(signs.map((sign, i) => [String(i + 1), [sign]])),
      dense_feature: [...dense],
    }))
    const { scores } = await scorer.score(rawColumns(scorer.manifest.slots, instances))
    return Math.max(...predictions.map(({ score }, i) => Math.abs(score - scores[i]!)))
  } finally {
    await scorer.close()
  }
}
