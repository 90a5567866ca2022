/** @file Every model beside PyTorch: five steps from the same weights and batches, by values that test/python/record_parity*.py and record_twins.py recorded. */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { openReader } from '../../src/data/index.ts'
import { ortEngine } from '../../src/graph/engine/index.ts'
import { loadModel, type TracedModel } from '../../src/model/index.ts'
import { HostStep, hostGraph } from '../../src/training/step/index.ts'
import { createLocalParams, LocalParams, type Params } from '../../src/weights/params/index.ts'

type Values = readonly number[]
interface Weights {
  readonly parameters: Readonly<Record<string, Values>>
  /** Per table, rows by sign. */
  readonly tables: Readonly<Record<string, Readonly<Record<string, Values>>>>
}
interface Recorded {
  readonly hyper: Readonly<Record<string, unknown>>
  readonly batchSize: number
  /** Slot text: the batches one after another. */
  readonly text: readonly string[]
  readonly initial: Weights
  readonly steps: readonly (Weights & { readonly loss: number })[]
}
interface Gradients {
  readonly parameters: Record<string, Values>
  readonly tables: Record<string, Record<string, Values>>
}

const SEGMENTS = 2
/** Folders by what was recorded of them. */
const MODELS = {
  dnn: 'rank/dnn',
  wide_deep: 'rank/wide_deep',
  deepfm: 'rank/deepfm',
  fm: 'rank/fm',
  logistic_regression: 'rank/logistic_regression',
  dcn_v2: 'rank/dcn_v2',
  dcn_v2_mixture: 'rank/dcn_v2',
  din: 'rank/din',
  mmoe: 'multitask/mmoe',
  esmm: 'multitask/esmm',
  dssm: 'match/dssm',
  ncf: 'recall/ncf',
  gru4rec: 'recall/gru4rec',
  word2vec: 'recall/word2vec',
  dcn: 'rank/dcn',
  xdeepfm: 'rank/xdeepfm',
  autoint: 'rank/autoint',
  dlrm: 'rank/dlrm',
  ple: 'multitask/ple',
  share_bottom: 'multitask/share_bottom',
  bst: 'rank/bst',
  sasrec: 'recall/sasrec',
  fibinet: 'rank/fibinet',
  masknet: 'rank/masknet',
  masknet_parallel: 'rank/masknet',
  dien: 'rank/dien',
  mind: 'recall/mind',
  youtube_dnn: 'recall/youtube_dnn',
  ppnet: 'rank/ppnet',
  finalnet: 'rank/finalnet',
  pnn: 'rank/pnn',
  nfm: 'rank/nfm',
  afm: 'rank/afm',
  ffm: 'rank/ffm',
  fwfm: 'rank/fwfm',
  deepfefm: 'rank/deepfefm',
  difm: 'rank/difm',
  gatenet: 'rank/gatenet',
  flen: 'rank/flen',
  fgcnn: 'rank/fgcnn',
  wukong: 'rank/wukong',
  escm2: 'multitask/escm2',
  aitm: 'multitask/aitm',
  pepnet: 'multitask/pepnet',
  hstu: 'recall/hstu',
  bert4rec: 'rank/bert4rec',
  textcnn: 'contentunderstanding/textcnn',
  tagspace: 'contentunderstanding/tagspace',
  two_tower: 'recall/two_tower',
  dmr: 'rank/dmr',
  tdm: 'treebased/tdm',
  naml: 'rank/naml',
  tisas: 'recall/tisas',
  sr_gnn: 'recall/sr_gnn',
  'multiview-simnet': 'match/multiview-simnet',
} as const

describe('five steps as PyTorch makes them:', () => {
  test.each(Object.entries(MODELS))('%s', async (name, model) => {
    const recorded = JSON.parse(
      readFileSync(new URL(`../fixtures/parity/${name}.json`, import.meta.url), 'utf8'),
    ) as Recorded
    const path = fileURLToPath(new URL(`../../models/${model}/config.yaml`, import.meta.url))
    const overrides = Object.entries(recorded.hyper).map(
      ([key, value]) => `hyper_parameters.${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    const steps = await trainRecorded(await loadModel(loadConfig({ path, overrides })), recorded)
    expect(steps).toHaveLength(recorded.steps.length)
    for (const [i, { loss, gradients }] of steps.entries()) {
      const expected = recorded.steps[i]!
      expect(loss).toBeCloseTo(expected.loss, 5)
      expectClose(`step ${i}`, gradients.parameters, expected.parameters)
      expect(Object.keys(gradients.tables).sort()).toEqual(Object.keys(expected.tables).sort())
      for (const [table, rows] of Object.entries(expected.tables))
        expectClose(`step ${i}, table ${table}`, gradients.tables[table]!, rows)
    }
  })
})

/** The recorded text through reader, step and optimizer, as a trainer thread does it; what each step pushed. */
async function trainRecorded(
  model: TracedModel,
  { text, batchSize, initial }: Recorded,
): Promise<{ loss: number; gradients: Gradients }[]> {
  const { train: program, slots, metrics, optimizer, tableOptimizers } = model
  const state = new Set(program.state.map(({ name }) => name))
  const local = new LocalParams(
    createLocalParams({ program, optimizer, tableOptimizers, seed: 1, threads: 1, segments: SEGMENTS }),
    0,
  )
  setWeights(local, initial, state)
  const pushed: Gradients[] = []
  const params = spied(local, pushed, state)
  const session = await ortEngine().compile(program)
  const shared = { program, graph: hostGraph(session), params, slots, metrics, batchSize }
  const step = new HostStep({ ...shared, layout: local.dense.layout, segments: SEGMENTS, training: true, seed: 1 })
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-parity-'))
  try {
    await writeFile(join(folder, 'part-0'), `${text.join('\n')}\n`)
    const losses: number[] = []
    for await (const batch of openReader({ files: [join(folder, 'part-0')], slots, batchSize, threads: 1, epoch: 0 }))
      losses.push((await step.run(batch)).loss)
    return losses.map((loss, i) => ({ loss, gradients: pushed[i]! }))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Running statistics of batch norm are left as they begin: a training step does not read them. */
function setWeights(
  { dense, tables }: LocalParams,
  { parameters, tables: recordedTables }: Weights,
  state: ReadonlySet<string>,
): void {
  const bytes = dense.bytes()
  const weights = new Float32Array(bytes.buffer, bytes.byteOffset, dense.layout.floats)
  const entries = dense.layout.entries.filter(({ name }) => !state.has(name))
  expect(entries.map(({ name }) => name).sort()).toEqual(Object.keys(parameters).sort())
  for (const { name, at, size } of entries) {
    expect(parameters[name], `values of ${name}`).toHaveLength(size)
    weights.set(parameters[name]!, at)
  }
  for (const table of tables) {
    const rows = Object.entries(recordedTables[table.name]!)
    const whole = new Uint8Array(rows.length * table.rowBytes) // optimizer state starts at zero
    for (const [i, [, values]] of rows.entries())
      new Float32Array(whole.buffer, i * table.rowBytes, table.dim).set(values)
    table.load(
      BigUint64Array.from(rows, ([sign]) => BigInt(sign)),
      whole,
    )
  }
}

/** Parameters that note the gradients they are given. */
function spied(local: LocalParams, pushed: Gradients[], state: ReadonlySet<string>): Params {
  return {
    pull: (share, insert) => local.pull(share, insert),
    push: (share) => {
      const entries = local.dense.layout.entries.filter(({ name }) => !state.has(name))
      pushed.push({
        parameters: Object.fromEntries(
          entries.map(({ name, at, size }) => [name, Array.from(share.gradients.subarray(at, at + size))]),
        ),
        tables: Object.fromEntries(
          share.tables.map(({ table, distinct, gradients }) => {
            const { name, dim } = local.tables[table]!
            const rows = Array.from(distinct.signs, (sign, i) => [
              String(sign),
              Array.from(gradients.subarray(i * dim, (i + 1) * dim)),
            ])
            return [name, Object.fromEntries(rows)]
          }),
        ),
      })
      return local.push(share)
    },
    flush: () => local.flush(),
  }
}

/** Every value within 1e-4 of the recorded one; where that is below 1e-3, within 1e-7. */
function expectClose(
  where: string,
  actual: Readonly<Record<string, Values>>,
  expected: Readonly<Record<string, Values>>,
): void {
  expect(Object.keys(actual).sort(), where).toEqual(Object.keys(expected).sort())
  for (const [name, values] of Object.entries(expected)) {
    expect(actual[name], `${where}, ${name}`).toHaveLength(values.length)
    const off = values.map((value, i) => Math.abs(actual[name]![i]! - value) / Math.max(Math.abs(value), 1e-3))
    expect(Math.max(...off), `${where}, gradient of ${name}`).toBeLessThan(1e-4)
  }
}
