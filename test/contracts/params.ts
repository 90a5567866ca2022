/** @file What every implementation of Params must do: one suite, called once for each place where weights may live. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openReader } from '../../src/data/index.ts'
import { ortEngine } from '../../src/graph/engine/index.ts'
import { type Clip, type Feeds, optimizer } from '../../src/index.ts'
import { traceModel } from '../../src/model/index.ts'
import * as nn from '../../src/nn.ts'
import { concat, mean, type Tensor } from '../../src/nn.ts'
import { ReferenceStore } from '../../src/training/ps/reference-store.testing.ts'
import { HostStep, hostGraph } from '../../src/training/step/index.ts'
import {
  type BatchParams,
  createLocalParams,
  denseLayout,
  LocalParams,
  type Params,
} from '../../src/weights/params/index.ts'
import { type Placement, SignMerger, type TablesParameters } from '../../src/weights/table/index.ts'

/** Two tables over the same slots, a third over another, one hidden layer. */
class ContractModel {
  createFeeds({ label, sparse, dense }: Feeds) {
    return {
      click: label('click'),
      user: sparse('user'),
      item: sparse('item'),
      tag: sparse('tag'),
      x: dense('x', 2),
    }
  }

  net({ click, user, item, tag, x }: ContractFeeds) {
    const deep = nn.embedding([user, item], { name: 'deep', dim: 3 })
    const wide = nn.embedding([user, item], { name: 'wide', dim: 1 })
    const tags = nn.embedding([tag], { name: 'tags', dim: 5 })
    const hidden = nn.linear(concat([deep, tags, x], 1), { name: 'hidden', out: 5, activation: 'tanh' })
    const logit = nn.linear(concat([hidden, wide], 1), { name: 'out', out: 1 })
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)) }
  }

  createOptimizer() {
    return optimizer.adagrad({ learningRate: 0.05 })
  }
}

interface ContractFeeds {
  readonly click: Tensor
  readonly user: nn.SparseSlot
  readonly item: nn.SparseSlot
  readonly tag: nn.SparseSlot
  readonly x: Tensor
}

export const SEED = 7
export const SEGMENTS = 4

/** Rows of the third table count show and click. */
const ACCESSOR: TablesParameters = {
  tags: { accessor: { embedx_threshold: 0.4 } },
}

export interface ParamsProblem {
  readonly name: string
  readonly model: ReturnType<typeof traceModel>
  readonly tableParameters: TablesParameters
}

const MODEL = traceModel(new ContractModel() as never)
const PROBLEMS: readonly ParamsProblem[] = [
  { name: 'plain tables', model: MODEL, tableParameters: {} },
  { name: 'a table that counts show and click', model: MODEL, tableParameters: ACCESSOR },
]

export interface OpenedParams {
  /** One for each who contributes to a step. */
  readonly params: readonly Params[]
  /** How signs are dealt out before their segments. @default not at all */
  readonly placement?: Placement | undefined
  /** The contributors push slices of one batch. @default false */
  readonly sliced?: boolean | undefined
  close(): Promise<void> | void
}

export interface ParamsForm {
  readonly name: string
  /** Beyond one contributor all make one step together. @default 1 */
  readonly contributors?: number
  /** Tables may count show and click. @default true */
  readonly accessors?: boolean
  /** What may be lost on the way. @default 1e-5 */
  readonly tolerance?: number
  open(problem: ParamsProblem, contributors: number, clip?: Clip): OpenedParams | Promise<OpenedParams>
}

/** What one contributor brings to a step. */
interface Part {
  readonly samples: number
  /** By slot group: user and item, tag. */
  readonly signs: readonly [readonly bigint[], readonly bigint[]]
}

const GROUP_OF_TABLE = [0, 0, 1]
const FAR = 2n ** 64n - 1n

/** Steps of up to two contributors: signs that both have, signs that come again, a batch of one sample, slots without signs. */
const STEPS: readonly (readonly [Part, Part])[] = [
  [
    { samples: 4, signs: [[1n, 2n, 3n, FAR], [10n]] },
    {
      samples: 2,
      signs: [
        [2n, 5n, 0n],
        [10n, 11n],
      ],
    },
  ],
  [
    { samples: 1, signs: [[3n], [11n]] },
    { samples: 3, signs: [[3n, FAR], []] },
  ],
  [
    { samples: 2, signs: [[], [10n, 12n]] },
    { samples: 2, signs: [[1n], [12n]] },
  ],
  [
    {
      samples: 3,
      signs: [
        [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n],
        [10n, 11n, 12n],
      ],
    },
    { samples: 1, signs: [[2n, 9n], [10n]] },
  ],
]
const ALL: Part = {
  samples: 1,
  signs: [
    [0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, FAR, 99n],
    [10n, 11n, 12n, 99n],
  ],
}

export function testParams(form: ParamsForm): void {
  const { name, contributors: most = 1, accessors = true, tolerance = 1e-5 } = form
  describe(`Params: ${name}`, () => {
    describe.each(PROBLEMS.slice(0, accessors ? 2 : 1))('$name', (problem) => {
      test.each(most > 1 ? [1, most] : [1])('a pull gives what %i contributors have pushed before', async (count) => {
        const opened = await form.open(problem, count)
        const reference = openReference(problem)
        try {
          for (const [step, parts] of STEPS.entries()) {
            const batches = parts.slice(0, count).map((part) => batchOf(problem, opened, part, parts.slice(0, count)))
            await Promise.all(batches.map((batch, c) => pull(opened.params[c]!, batch, true)))
            for (const batch of batches) expectPulled(batch, reference, problem, tolerance)
            for (const [c, batch] of batches.entries()) fillGradients(batch, step, c)
            // What is pushed may be scaled on its way.
            const contributions = batches.map((batch) => contributionOf(batch))
            if (opened.sliced) batches.forEach(scaleToSlice)
            await Promise.all(batches.map((batch, c) => opened.params[c]!.push(batch)))
            reference.push(reference.merge(contributions))
          }
          await Promise.all(opened.params.map((params) => params.flush()))
          const batches = opened.params.map(() => batchOf(problem, opened, ALL))
          await Promise.all(batches.map((batch, c) => pull(opened.params[c]!, batch, false)))
          for (const batch of batches) expectPulled(batch, reference, problem, tolerance)
        } finally {
          await opened.close()
        }
      })

      test('looking at rows makes none: their first weights follow from seed, table and sign', async () => {
        const opened = await form.open(problem, 1)
        const batch = batchOf(problem, opened, ALL)
        await opened.params[0]!.pull(batch, false)
        const again = batchOf(problem, opened, ALL)
        await opened.params[0]!.pull(again, false)
        expectPulled(again, openReference(problem), problem, tolerance)
        expect(again).toEqual(batch)
        await opened.close()
      })

      test('flush needs no push, and may come twice', async () => {
        const opened = await form.open(problem, 1)
        await opened.params[0]!.flush()
        await opened.params[0]!.flush()
        await opened.close()
      })

      test.each([undefined, { kind: 'global_norm', max: 0.05 }] as const)(
        'steps over text learn what they learn in local memory (clip %j)',
        async (clip) => {
          const opened = await form.open(problem, 1, clip)
          try {
            await runSteps(problem, opened, clip)
            await opened.params[0]!.flush()
            const found = batchOf(problem, opened, ALL)
            await pull(opened.params[0]!, found, false)
            expectAlike(found, await learnedLocally(problem, clip), problem, tolerance)
          } finally {
            await opened.close()
          }
        },
      )
    })
  })
}

/** As a process alone has them. */
export function localHandle({ model, tableParameters }: ParamsProblem, threads = 1, together = false) {
  const { train: program, optimizer, tableOptimizers } = model
  const rules = { program, optimizer, tableOptimizers, tableParameters }
  return createLocalParams({ ...rules, seed: SEED, segments: SEGMENTS, threads, together })
}

export function layoutOf({ model }: ParamsProblem) {
  return denseLayout(model.train, model.optimizer)
}

function openReference({ model, tableParameters }: ParamsProblem): ReferenceStore {
  const { train: program, optimizer, tableOptimizers } = model
  const slice = { from: 0, to: denseLayout(program, optimizer).floats }
  return new ReferenceStore({ program, optimizer, tableOptimizers, tableParameters, seed: SEED, segments: 1, slice })
}

function batchOf(
  problem: ParamsProblem,
  { placement, sliced }: Pick<OpenedParams, 'placement' | 'sliced'>,
  { samples, signs }: Part,
  /** Of the whole step. */
  all: readonly Part[] = [],
): BatchParams {
  const groups = signs.map((own) => new SignMerger(SEGMENTS, placement).distinct([BigUint64Array.from(own)]))
  const counted = Object.keys(problem.tableParameters).length > 0
  const showClick = groups.map(({ signs: own }) =>
    Float32Array.from(
      { length: 3 * own.length },
      (_, i) => [1, 1 + Number(own[Math.floor(i / 3)]! % 3n), i % 2][i % 3]!,
    ),
  )
  const layout = layoutOf(problem)
  return {
    samples,
    slices: sliced ? all.length : undefined,
    batchSamples: sliced ? all.reduce((sum, part) => sum + part.samples, 0) : undefined,
    tables: problem.model.train.tables.map(({ dim }, table) => {
      const distinct = groups[GROUP_OF_TABLE[table]!]!
      const floats = () => new Float32Array(distinct.signs.length * dim)
      const counts = counted && GROUP_OF_TABLE[table] === 1 ? showClick[1] : undefined
      return { table, distinct, rows: floats(), gradients: floats(), showClick: counts }
    }),
    weights: new Float32Array(layout.floats),
    gradients: new Float32Array(layout.floats),
  }
}

async function pull(params: Params, batch: BatchParams, insert: boolean): Promise<void> {
  await params.pull(batch, insert)
  await params.refresh?.(batch)
}

/** By step, contributor, table and sign. */
function fillGradients({ tables, gradients }: BatchParams, step: number, contributor: number): void {
  const wave = (...at: readonly number[]) =>
    Math.sin(at.reduce((sum, value, i) => sum + (i + 1.3) * value, step * 3.1 + contributor))
  for (const { table, distinct, gradients: own } of tables) {
    const dim = own.length / Math.max(1, distinct.signs.length)
    for (const [i, sign] of distinct.signs.entries())
      for (let d = 0; d < dim; d++) own[i * dim + d] = wave(table, Number(sign % 1000n), d)
  }
  for (let i = 0; i < gradients.length; i++) gradients[i] = wave(i)
}

/** A slice's gradients of rows are its part of the whole batch's, as a step over it gives them. */
function scaleToSlice({ tables, samples, batchSamples = samples }: BatchParams): void {
  for (const { gradients } of tables) for (let i = 0; i < gradients.length; i++) gradients[i]! *= samples / batchSamples
}

function contributionOf({ tables, gradients, samples }: BatchParams) {
  const counts = tables[2]!.showClick
  return {
    samples,
    groups: [tables[0]!.distinct, tables[2]!.distinct],
    tableGroups: GROUP_OF_TABLE,
    gradients: tables.map((table) => Float64Array.from(table.gradients)),
    dense: Float64Array.from(gradients),
    ...(counts && { showClick: [new Float32Array(3 * tables[0]!.distinct.signs.length), counts.slice()] }),
  }
}

function expectPulled(batch: BatchParams, reference: ReferenceStore, problem: ParamsProblem, tolerance: number): void {
  const rows = reference.pull(
    { groups: [batch.tables[0]!.distinct, batch.tables[2]!.distinct], tableGroups: GROUP_OF_TABLE },
    false,
  )
  const expected = {
    ...batch,
    weights: reference.pullDense(),
    tables: batch.tables.map((own, t) => ({ ...own, rows: rows[t]! })),
  }
  expectAlike(batch, expected, problem, tolerance)
}

interface Pulled {
  readonly weights: ArrayLike<number>
  readonly tables: readonly {
    readonly distinct: { readonly signs: BigUint64Array }
    readonly rows: ArrayLike<number>
  }[]
}

/** By sign, whose order may differ. */
function expectAlike(found: Pulled, expected: Pulled, problem: ParamsProblem, tolerance: number): void {
  for (const [t, { name, dim }] of problem.model.train.tables.entries()) {
    const order = [...expected.tables[t]!.distinct.signs]
    for (const [i, sign] of found.tables[t]!.distinct.signs.entries()) {
      const at = order.indexOf(sign)
      for (let d = 0; d < dim; d++) {
        const [own, other] = [found.tables[t]!.rows[i * dim + d]!, expected.tables[t]!.rows[at * dim + d]!]
        expect(Math.abs(own - other), `${name}:${sign}[${d}] ${own} ${other}`).toBeLessThan(tolerance)
      }
    }
  }
  for (const { name, at, size } of layoutOf(problem).entries)
    for (let i = at; i < at + size; i++) {
      const [own, other] = [found.weights[i]!, expected.weights[i]!]
      expect(Math.abs(own - other), `${name}[${i - at}] ${own} ${other}`).toBeLessThan(tolerance)
    }
}

/** Signs that come twice in a sample and in several; slots without signs; the last batch has one sample. */
const TEXT = `click:1 user:1 item:2 item:2 item:3 tag:10 x:0.1 x:0.2
click:0 user:1 tag:10 tag:11 x:-0.3 x:0.5
click:1 user:4 item:5 item:1 x:0.7 x:-0.1
click:0 user:2 item:2 tag:12 x:0.2 x:0.2
click:1 user:3 item:3 tag:12 tag:12 x:0.4 x:-0.6
click:1 user:6 item:7 item:8 tag:11 x:-0.2 x:0.9
click:0 user:1 item:9 tag:10 x:0.3 x:0.1
`

/** What is learned in local memory, found once. */
async function learnedLocally(problem: ParamsProblem, clip: Clip | undefined): Promise<BatchParams> {
  const key = JSON.stringify([problem.name, clip])
  const found = LEARNED.get(key) ?? batchOf(problem, {}, ALL)
  if (LEARNED.has(key)) return found
  const local = new LocalParams(localHandle(problem), 0)
  await runSteps(problem, { params: [local], close: () => undefined }, clip)
  local.pull(found, false)
  LEARNED.set(key, found)
  return found
}

const LEARNED = new Map<string, BatchParams>()

async function runSteps(problem: ParamsProblem, opened: OpenedParams, clip: Clip | undefined): Promise<void> {
  const { train: program, slots, metrics } = problem.model
  const showClick = Object.fromEntries(Object.keys(problem.tableParameters).map((table) => [table, {}]))
  const step = new HostStep({
    program,
    graph: hostGraph(await ortEngine().compile(program)),
    params: opened.params[0]!,
    slots,
    metrics,
    layout: layoutOf(problem),
    segments: SEGMENTS,
    placement: opened.placement,
    batchSize: 3,
    training: true,
    seed: SEED,
    clip,
    showClick,
  })
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-params-'))
  try {
    await writeFile(join(folder, 'part-0'), TEXT)
    for await (const batch of openReader({
      files: [join(folder, 'part-0')],
      slots,
      batchSize: 3,
      threads: 1,
      epoch: 0,
    })) {
      const whole = opened.sliced ? { ...batch, slice: { count: 1, share: 1 } } : batch
      await step.run(whole)
    }
  } finally {
    await rm(folder, { recursive: true })
    await step.close()
  }
}
