/** @file The parameter server: training speed of two layouts, latency of a pull and a push, rows a server thread serves. JSON lines. */
import { parseArgs } from 'node:util'
import { loadConfig } from '../src/config/index.ts'
import { loadModel } from '../src/model/index.ts'
import { denseLayout, type ParamsShare } from '../src/params/index.ts'
import { denseSlices, jobIdentity, KernelStore, RemoteParams, ServerGroup } from '../src/ps/index.ts'
import { createRng } from '../src/util/index.ts'
import { startJob } from '../test/ps/job.testing.ts'
import { criteoLike } from './dataset.ts'
import { at } from './tools.ts'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '400000' },
    only: { type: 'string', multiple: true },
    mode: { type: 'string', default: 'async' },
    repeats: { type: 'string', default: '200' },
  },
})

const CONFIG = at('models', 'rank', 'dnn', 'config_bigdata.yaml')
const SIGNS = 13_312
const PARTS: Readonly<Record<string, () => Promise<object>>> = {
  '1 worker x 2 threads, 1 server': () => trainingSpeed({ workers: 1, threads: 2, servers: 1 }),
  '2 workers x 1 thread, 2 servers': () => trainingSpeed({ workers: 2, threads: 1, servers: 2 }),
  'accuracy of 2 workers': accuracy,
  latency,
  store: async () => storeSpeed(),
}

for (const [name, measure] of Object.entries(PARTS)) {
  if (options.only && !options.only.some((part) => name.includes(part))) continue
  console.log(JSON.stringify({ name, ...(await measure()) }))
}
process.exit(0)

interface Layout {
  readonly workers: number
  readonly threads: number
  readonly servers: number
}

/** Test AUC by mode over three seeds, beside one process with one thread on the same samples. */
async function accuracy() {
  const auc = async (mode: string, layout: Layout, seed: number) =>
    ((await trainingSpeed(layout, mode, seed)).evaluation as { auc: number }).auc
  const summary = async (mode: string, layout: Layout) => {
    const found: number[] = []
    for (const seed of [1, 2, 3]) found.push(await auc(mode, layout, seed))
    const mean = found.reduce((sum, value) => sum + value, 0) / found.length
    return { mean, spread: Math.max(...found) - Math.min(...found) }
  }
  // Sync of one worker with one thread is, bit for bit, training in one process.
  const single = await summary('sync', { workers: 1, threads: 1, servers: 1 })
  const modes = Object.fromEntries(
    await inOrder(['async', 'half_async', 'geo'], async (mode) => {
      const found = await summary(mode, { workers: 2, threads: 1, servers: 2 })
      return [mode, { ...found, belowSingle: single.mean - found.mean }] as const
    }),
  )
  return { single, ...modes }
}

async function inOrder<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await run(item))
  return results
}

async function trainingSpeed({ workers, threads, servers }: Layout, mode = options.mode, seed = 12345) {
  const data = await criteoLike(Number(options.rows), 'slot', 1)
  const started = Date.now()
  const job = await startJob({
    path: CONFIG,
    workers,
    servers,
    overrides: [
      `runner.train_data_dir=${data}/train`,
      `runner.test_data_dir=${data}/test`,
      `runner.thread_num=${threads}`,
      `runner.sync_mode=${mode}`,
      `runner.seed=${seed}`,
      'runner.epochs=1',
      'runner.print_interval=50',
      'runner.model_save_path=',
    ],
  })
  await job.success()
  const events = job.named('worker 0').events
  const done = events.find(({ kind }) => kind === 'done') as Record<string, unknown>
  const ready = events.find(({ kind }) => kind === 'ready') as Record<string, unknown>
  const { samples, samplesPerSecond, metrics, evaluation, breakdown } = done
  return {
    ...{ mode, workers, threads, servers, samples, samplesPerSecond, metrics, evaluation, breakdown },
    startupSeconds: ready['startupSeconds'],
    totalSeconds: (Date.now() - started) / 1000,
  }
}

/** Pull and push of one table's rows, with a model whose dense part is next to nothing. */
async function latency() {
  const overrides = ['hyper_parameters.fc_sizes=[1]', 'runner.table_segments=1', 'runner.sync_mode=async']
  const job = await startJob({ path: CONFIG, workers: 1, servers: 1, overrides, workersStarted: false })
  const config = loadConfig({ path: CONFIG, overrides })
  const model = await loadModel(config)
  const { cluster } = job
  const identity = jobIdentity({ ...cluster, role: 'worker', rank: 0, endpoint: '' }, config.config, model)
  const servers = await ServerGroup.open({ servers: cluster.servers, identity })
  const layout = denseLayout(model.train, model.optimizer)
  const params = new RemoteParams({
    call: (...asked) => servers.ask(...asked),
    thread: 0,
    segments: 1,
    slices: denseSlices(layout.floats, 1),
    pushesAhead: 0,
  })
  const share = randomShare(layout.floats)
  const millis: number[] = []
  for (let i = 0; i < Number(options.repeats) + 20; i++) {
    const before = performance.now()
    await params.pull(share, true)
    await params.push(share)
    if (i >= 20) millis.push(performance.now() - before)
  }
  servers.close()
  await job.success()
  millis.sort((a, b) => a - b)
  const bytes = 2 * SIGNS * (8 + 9 * 4)
  const p50 = millis[millis.length >> 1]!
  return {
    signs: SIGNS,
    p50Ms: p50,
    p99Ms: millis[Math.floor(millis.length * 0.99)]!,
    megabytesPerSecond: bytes / p50 / 1000,
  }
}

function randomShare(floats: number): ParamsShare {
  const rng = createRng(1n)
  const signs = BigUint64Array.from({ length: SIGNS }, () => BigInt(rng.below(2 ** 31)) * 4099n)
  return {
    samples: 512,
    tables: [
      {
        table: 0,
        distinct: { signs, lengths: Uint32Array.of(SIGNS) },
        rows: new Float32Array(9 * SIGNS),
        gradients: Float32Array.from({ length: 9 * SIGNS }, () => rng.normal() / 100),
      },
    ],
    weights: new Float32Array(floats),
    gradients: new Float32Array(floats),
  }
}

/** Rows a thread pulls and pushes without a network. */
async function storeSpeed() {
  const overrides = ['hyper_parameters.fc_sizes=[1]', 'runner.table_segments=1']
  const { train: program, optimizer, tableOptimizers } = await loadModel(loadConfig({ path: CONFIG, overrides }))
  const slice = { from: 0, to: denseLayout(program, optimizer).floats }
  const store = new KernelStore({ program, optimizer, tableOptimizers, seed: 1, segments: 1, slice })
  const { tables, gradients: dense } = randomShare(slice.to)
  const signs = { groups: [tables[0]!.distinct], tableGroups: [0] }
  const gradients = [tables[0]!.gradients]
  const rate = (work: () => void) => {
    for (let i = 0; i < 20; i++) work()
    const before = performance.now()
    for (let i = 0; i < 200; i++) work()
    return (200 * SIGNS) / ((performance.now() - before) / 1000)
  }
  return {
    pullRowsPerSecond: rate(() => store.pull(signs, true)),
    pushRowsPerSecond: rate(() => store.push({ ...signs, gradients, dense })),
  }
}
