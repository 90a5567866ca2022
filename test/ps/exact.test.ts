/** @file Sync over several workers is the same mathematics as one worker with the whole batch: equal to 1e-9 in float64. */
import { describe, expect, test } from 'vitest'
import { faultyTransport } from '../../src/base/net/faulty.testing.ts'
import { memoryTransport } from '../../src/base/net/memory.testing.ts'
import { optimizer } from '../../src/index.ts'
import type { ReferenceStore } from '../../src/training/ps/reference-store.testing.ts'
import type { BatchParams, Params } from '../../src/weights/params/index.ts'
import {
  type ExactJobOptions,
  everything,
  exactStep,
  openJob,
  openProblem,
  openStores,
  type Problem,
  samples,
} from './exact.testing.ts'

const STEPS = 50
const BATCH = 18 // four workers get 5, 5, 4 and 4 of them

const OPTIMIZERS = {
  sgd: optimizer.sgd({ learningRate: 0.1 }),
  adam: optimizer.adam({ learningRate: 0.01, lazy: true }),
  adagrad: optimizer.adagrad({ learningRate: 0.05 }),
}

describe.each(Object.entries(OPTIMIZERS))('sync with %s', (_, spec) => {
  test.each([1, 2, 4])('of %i workers over 3 servers equals one process after 50 steps', async (workers) => {
    const problem = await openProblem(spec)
    const single = await trainSingle(problem)
    const several = await trainTogether({ problem, mode: 'sync', workers, servers: 3 })
    expectEqual(several, single)
  })
})

const RULES = ['SparseAdaGradSGDRule', 'SparseAdamSGDRule', 'SparseSharedAdamSGDRule'] as const

describe.each(RULES)('sync with an accessor and %s', (name) => {
  const rule = { name, adagrad: { learning_rate: 0.05 }, adam: { learning_rate: 0.01 } }
  const accessor = { embedx_threshold: 0.4, embed_sgd_param: rule, embedx_sgd_param: rule }
  test.each([1, 2, 4])('of %i workers over 3 servers equals one process after 50 steps', async (workers) => {
    const tables = (await openProblem(OPTIMIZERS.sgd)).traced.train.tables
    const parameters = Object.fromEntries(tables.map((table) => [table.name, { accessor }]))
    const problem = await openProblem(OPTIMIZERS.sgd, parameters)
    const single = await trainSingle(problem)
    const several = await trainTogether({ problem, mode: 'sync', workers, servers: 3 })
    expectEqual(several, single)
    expect([...single.values()].some((values) => values.length > 12)).toBe(true)
  })
})

test('frames that are lost, repeated and late change nothing', async () => {
  const problem = await openProblem(OPTIMIZERS.adam)
  const transport = faultyTransport(memoryTransport(), { seed: 3, drop: 0.05, repeat: 0.1, delayMs: 2 })
  const job = { problem, mode: 'sync', workers: 2, servers: 2, transport, retryMs: 60 } as const
  expectEqual(await trainTogether(job), await trainSingle(problem))
})

test('a worker that runs out of samples leaves, and the others go on', async () => {
  const problem = await openProblem(OPTIMIZERS.sgd)
  const job = await openJob({ problem, mode: 'sync', workers: 2, servers: 2 })
  const { METHODS } = await import('../../src/training/ps/index.ts')
  const work = async (worker: number, steps: number) => {
    for (let k = 0; k < steps; k++) await exactStep(problem, job.params[worker]!, samples(6, k), 2)
    await job.groups[worker]!.requestAll(METHODS.leave, [], 'leave')
  }
  await Promise.all([work(0, 3), work(1, 8)])
  expect(job.stores.map(({ steps }) => steps)).toEqual([8, 8])
  await job.close()
})

async function trainSingle(problem: Problem) {
  const [store] = openStores(problem, 1)
  for (let k = 0; k < STEPS; k++) await exactStep(problem, directly(store!), samples(BATCH, k), 1)
  return everything([store!], problem)
}

async function trainTogether(options: ExactJobOptions) {
  const { problem, workers, servers } = options
  const job = await openJob(options)
  await Promise.all(
    job.params.map(async (params, worker) => {
      for (let k = 0; k < STEPS; k++)
        await exactStep(problem, params, sliceOf(samples(BATCH, k), worker, workers), servers)
      await params.flush()
    }),
  )
  const all = everything(job.stores, problem)
  await job.close()
  return all
}

/** Worker w's slice of a global batch; the first ones have one more. */
function sliceOf<T>(batch: readonly T[], worker: number, workers: number): readonly T[] {
  const [each, more] = [Math.floor(batch.length / workers), batch.length % workers]
  const from = worker * each + Math.min(worker, more)
  return batch.slice(from, from + each + (worker < more ? 1 : 0))
}

function expectEqual(several: ReadonlyMap<string, number[]>, single: ReadonlyMap<string, number[]>) {
  expect([...several.keys()]).toEqual([...single.keys()])
  for (const [name, values] of single)
    for (const [i, value] of values.entries())
      expect(Math.abs(several.get(name)![i]! - value), `${name}[${i}]`).toBeLessThan(1e-9)
}

/** The store without a network: training in one process. */
function directly(store: ReferenceStore): Params<Float64Array> {
  const signs = ({ tables }: BatchParams<Float64Array>) => ({
    groups: [tables[0]!.distinct],
    tableGroups: tables.map(() => 0),
  })
  return {
    pull(share) {
      const rows = store.pull(signs(share), true)
      for (const [t, { rows: into }] of share.tables.entries()) into.set(rows[t]!)
      share.weights.set(store.pullDense())
    },
    push: (share) =>
      store.push({
        ...signs(share),
        gradients: share.tables.map(({ gradients }) => gradients),
        samples: share.samples,
        ...(share.tables[0]?.showClick && { showClick: [share.tables[0].showClick] }),
        dense: share.gradients,
      }),
    flush: () => undefined,
  }
}
