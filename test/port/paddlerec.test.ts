/** @file Drafts of PaddleRec's own nets, where OARFISH_PADDLEREC names a checkout: they type-check, and train as the zoo's models do. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { openReader } from '../../src/data/index.ts'
import { ortEngine } from '../../src/graph/engine/index.ts'
import { loadModel, type TracedModel } from '../../src/model/index.ts'
import { portModel } from '../../src/paddle/port/index.ts'
import { HostStep, hostGraph } from '../../src/training/step/index.ts'
import { createLocalParams, LocalParams } from '../../src/weights/params/index.ts'
import { oarfish } from '../oarfish.testing.ts'
import { typeErrors } from './type-check.testing.ts'

const ROOT = process.env['OARFISH_PADDLEREC'] ?? ''
/** A Python that has a real Paddle. */
const PADDLE = process.env['OARFISH_PADDLE_PYTHON'] ?? ''
const models = join(ROOT, 'models')

const nets = (group: string) =>
  ROOT === ''
    ? []
    : readdirSync(join(models, group))
        .filter((name) => existsSync(join(models, group, name, 'net.py')))
        .map((name) => `${group}/${name}`)

describe.skipIf(ROOT === '')('with a checkout of PaddleRec (OARFISH_PADDLEREC)', () => {
  test('the draft of every net of rank and multitask type-checks', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'oarfish-port-'))
    const all = [...nets('rank'), ...nets('multitask')]
    expect(all.length).toBeGreaterThan(30)
    for (const name of all) {
      const { text, gaps } = await portModel({ source: join(models, name) })
      await writeFile(join(folder, `${name.replace('/', '_')}.ts`), text)
      // Whatever was not translated throws with its line.
      for (const { file, node } of gaps.filter((gap) => gap.file.name === 'net.py'))
        expect(`${name} ${text}`).toContain(`${file.name}:${node.line}: `)
    }
    expect(await typeErrors(folder)).toEqual([])
    await rm(folder, { recursive: true })
  }, 600_000)

  test.each(Object.keys(MAPS))(
    'the draft of %s trains to the losses of the zoo’s own',
    async (name) => {
      const { model, weights, losses, folder } = await draftWith(name)
      const steps = await trainFrom(model, weights, folder)
      expect(steps).toHaveLength(losses.length)
      // PaddleRec's log_loss adds 1e-4 to probabilities, which the zoo's does not.
      for (const [i, loss] of steps.entries()) expect(Math.abs(loss - losses[i]!)).toBeLessThan(NEAR[name] ?? 2e-3)
      await rm(folder, { recursive: true })
    },
    120_000,
  )

  test.skipIf(PADDLE === '')(
    'dcn computes what a real Paddle computes (OARFISH_PADDLE_PYTHON)',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'oarfish-port-'))
      await cp(join(models, 'rank/dcn'), folder, { recursive: true })
      const ported = await oarfish(['port', folder], folder)
      expect(ported.code, ported.err).toBe(0)
      const source = join(models, 'rank/dcn')
      const { config } = loadConfig({ path: join(folder, 'config.yaml') })
      const data = String(config.runner.train_data_dir)
      const files = readdirSync(data).map((file) => join(data, file))
      const values = Object.entries(config.hyper_parameters).map(
        ([key, value]) => [`hyper_parameters.${key}`, value] as const,
      )
      const rate = (config.hyper_parameters['optimizer'] as { learning_rate: number }).learning_rate
      const settings = {
        folder: source,
        reader: join(source, 'reader.py'),
        config: { ...Object.fromEntries(values), 'hyper_parameters.optimizer.learning_rate': rate },
        files,
        batch_size: config.runner.train_batch_size,
        batches: 1,
        save: folder,
      }
      execFileSync(PADDLE, [fileURLToPath(new URL('../../python/oarfish_paddle.py', import.meta.url))], {
        input: JSON.stringify(settings),
        stdio: ['pipe', 'pipe', 'ignore'],
      })
      for (const how of [[], ['--training']]) {
        const { code, out } = await oarfish(
          [
            'parity',
            '--paddle',
            'rec.pdparams',
            '-m',
            'config.yaml',
            '--paddlerec',
            source,
            '--python',
            PADDLE,
            '--batches',
            '5',
            '--tolerance',
            '2e-4',
            ...how,
          ],
          folder,
        )
        expect(out).toMatch(/5 batches compared\nlargest difference of a loss: \d\.\d+e[-+]\d/)
        expect(code, out).toBe(0)
      }
      await rm(folder, { recursive: true })
    },
    600_000,
  )
})

/** The zoo's deepfm has a bias of the first order more, which here begins in that of the last layer and so moves half as far. */
const NEAR: Readonly<Record<string, number>> = { dnn: 1e-5, deepfm: 6e-3 }

type Values = readonly number[]
interface Weights {
  readonly parameters: Readonly<Record<string, Values>>
  readonly tables: Readonly<Record<string, Readonly<Record<string, Values>>>>
}

const layers = (ours: string, theirs: string, count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) =>
      ['weight', 'bias'].map((part) => [`${theirs}${i}.${part}`, `${ours}.${i}.${part}`] as const),
    ).flat(),
  )

/** Names of the draft's weights, and what the zoo calls them. */
const MAPS = {
  dnn: { folder: 'rank/dnn', names: { ...layers('fc', 'linear_', 3), embedding: 'embedding' } },
  wide_deep: {
    folder: 'rank/wide_deep',
    names: {
      ...layers('fc', 'linear_', 3),
      'wide_part.weight': 'wide.weight',
      'wide_part.bias': 'wide.bias',
      embedding: 'embedding',
    },
  },
  deepfm: {
    folder: 'rank/deepfm',
    names: {
      ...layers('fc', 'dnn.linear_', 3),
      'fm.dense_w_one': 'dense_one.weight',
      'fm.dense_w': 'dense_vectors',
      'fm.embedding_one': 'embedding_one',
      'fm.embedding': 'embedding',
    },
  },
  fm: {
    folder: 'rank/fm',
    names: {
      bias: 'dense_one.bias',
      'fm.dense_w_one': 'dense_one.weight',
      'fm.dense_w': 'dense_vectors',
      'fm.embedding_one': 'embedding_one',
      'fm.embedding': 'embedding',
    },
  },
  mmoe: {
    folder: 'multitask/mmoe',
    names: Object.fromEntries(
      ['weight', 'bias'].flatMap((part) => [
        ...[0, 1, 2].map((i) => [`expert_${i}.${part}`, `experts.expert_${i}.${part}`]),
        ...[0, 1].flatMap((i) => [
          [`gate_${i}.${part}`, `experts.gate_${i}.${part}`],
          [`tower_${i}.${part}`, `tower_${i}.0.${part}`],
          [`tower_out_${i}.${part}`, `tower_${i}.1.${part}`],
        ]),
      ]),
    ) as Record<string, string>,
  },
} as const satisfies Record<string, { folder: string; names: Record<string, string> }>

/** The draft in a folder of its own, with the weights, data and losses that were recorded for the zoo's model. */
async function draftWith(name: string) {
  const { folder: source, names } = MAPS[name as keyof typeof MAPS] as { folder: string; names: Record<string, string> }
  const recorded = JSON.parse(readFileSync(new URL(`../fixtures/parity/${name}.json`, import.meta.url), 'utf8')) as {
    hyper: Record<string, unknown>
    batchSize: number
    text: readonly string[]
    initial: Weights
    steps: readonly { loss: number }[]
  }
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-port-'))
  const { text } = await portModel({ source: join(models, source) })
  await writeFile(join(folder, 'model.ts'), text)
  await cp(join(models, source, 'config.yaml'), join(folder, 'config.yaml'))
  await mkdir(join(folder, 'rows'))
  await writeFile(join(folder, 'rows', 'part-0'), `${recorded.text.join('\n')}\n`)
  const overrides = Object.entries(recorded.hyper).map(
    ([key, value]) => `hyper_parameters.${key}=${JSON.stringify(value)}`,
  )
  const model = await loadModel(loadConfig({ path: join(folder, 'config.yaml'), overrides }))
  const weights: Weights = {
    parameters: Object.fromEntries(
      Object.entries(names).flatMap(([own, zoo]) =>
        recorded.initial.parameters[zoo] ? [[own, recorded.initial.parameters[zoo]!]] : [],
      ),
    ),
    tables: Object.fromEntries(
      Object.entries(names).flatMap(([own, zoo]) =>
        recorded.initial.tables[zoo] ? [[own, recorded.initial.tables[zoo]!]] : [],
      ),
    ),
  }
  if (name === 'deepfm') {
    const biases = ['fc.2.bias', 'dense_one.bias'].map((own) => recorded.initial.parameters[own]![0]!)
    Object.assign(weights.parameters, { 'dnn.linear_2.bias': [biases[0]! + biases[1]!] })
  }
  return { model, weights, losses: recorded.steps.map(({ loss }) => loss), folder, batchSize: recorded.batchSize }
}

async function trainFrom(model: TracedModel, weights: Weights, folder: string): Promise<readonly number[]> {
  const { train: program, slots, metrics, optimizer, tableOptimizers } = model
  const local = new LocalParams(
    createLocalParams({ program, optimizer, tableOptimizers, seed: 1, threads: 1, segments: 2 }),
    0,
  )
  const { dense } = local
  const bytes = dense.bytes()
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, dense.layout.floats)
  for (const { name, at, size } of dense.layout.entries) {
    expect(weights.parameters[name], `values of ${name}`).toHaveLength(size)
    values.set(weights.parameters[name]!, at)
  }
  for (const table of local.tables) {
    const rows = Object.entries(weights.tables[table.name]!)
    const whole = new Uint8Array(rows.length * table.rowBytes)
    for (const [i, [, own]] of rows.entries()) new Float32Array(whole.buffer, i * table.rowBytes, table.dim).set(own)
    table.load(
      BigUint64Array.from(rows, ([sign]) => BigInt(sign)),
      whole,
    )
  }
  const session = await ortEngine().compile(program)
  const step = new HostStep({
    program,
    graph: hostGraph(session),
    params: local,
    slots,
    metrics,
    batchSize: 8,
    layout: dense.layout,
    segments: 2,
    training: true,
    seed: 1,
  })
  const losses: number[] = []
  for await (const batch of openReader({
    files: [join(folder, 'rows', 'part-0')],
    slots,
    batchSize: 8,
    threads: 1,
    epoch: 0,
  }))
    losses.push((await step.run(batch)).loss)
  return losses
}
