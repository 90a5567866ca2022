/** @file Steps of several ranks are the same mathematics as one process with the whole batch: equal to 1e-9 in float64. */
import { describe, expect, test } from 'vitest'
import { optimizer } from '../../src/index.ts'
import { ownerOf } from '../../src/training/driver/table-plan.ts'
import type { ReferenceStore } from '../../src/training/ps/reference-store.testing.ts'
import { ParallelParams } from '../../src/training/step/parallel/parallel-params.ts'
import type { SignUnion } from '../../src/training/step/parallel/sign-union.ts'
import type { BatchParams, BatchRows, Params } from '../../src/weights/params/index.ts'
import { everything, exactStep, layoutOf, openProblem, openStores, type Problem, samples } from '../ps/exact.testing.ts'
import { inProcess } from './in-process.testing.ts'

const STEPS = 50
const BATCH = 18 // four ranks get 5, 5, 4 and 4 of them

const OPTIMIZERS = {
  sgd: optimizer.sgd({ learningRate: 0.1 }),
  adam: optimizer.adam({ learningRate: 0.01, lazy: true }),
  adagrad: optimizer.adagrad({ learningRate: 0.05 }),
}

describe.each(Object.entries(OPTIMIZERS))('%s', (_, spec) => {
  test.each([
    [1, 'whole', [false, false]],
    [2, 'whole', [false, false]],
    [4, 'whole', [false, false]],
    [2, 'divided', [true, true]],
    [4, 'divided', [true, true]],
    [3, 'one divided, one whole', [true, false]],
  ] as const)('on %i ranks, tables %s, equals one process after 50 steps', async (size, _, sharded) => {
    const problem = await openProblem(spec)
    const single = openStores(problem, 1)
    for (let k = 0; k < STEPS; k++) await exactStep(problem, directly(single[0]!), samples(BATCH, k), 1)
    const stores = await trainRanks(problem, size, sharded)
    const expected = everything(single, problem)
    // Whole tables are on every rank, divided ones only where their signs belong.
    for (const [rank, store] of stores.entries()) {
      const found = everything([store], problem)
      for (const [name, values] of expected) {
        const table = problem.traced.train.tables.findIndex((one) => name.startsWith(`${one.name}:`))
        const isElsewhere = table >= 0 && sharded[table] && ownerOf(BigInt(name.split(':')[1]!), size) !== rank
        expect(found.has(name), `rank ${rank} ${name}`).toBe(!isElsewhere)
        for (const [i, value] of isElsewhere ? [] : values.entries())
          expect(Math.abs(found.get(name)![i]! - value), `rank ${rank} ${name}[${i}]`).toBeLessThan(1e-9)
      }
    }
  })
})

test('ranks that run out of samples take part until the last has none', async () => {
  const problem = await openProblem(OPTIMIZERS.sgd)
  const stores = await trainRanks(problem, 3, [true, false], (rank) => [2, 5, 0][rank]!)
  expect(stores.map(({ steps }) => steps)).toEqual([5, 5, 5])
})

async function trainRanks(
  problem: Problem,
  size: number,
  sharded: readonly boolean[],
  stepsOf: (rank: number) => number = () => STEPS,
): Promise<ReferenceStore[]> {
  const { train: program } = problem.traced
  const layout = layoutOf(problem)
  const owners = sharded.includes(true) ? size : 1
  const groups = inProcess(size)
  const stores = groups.map(() => openStores(problem, 1)[0]!)
  await Promise.all(
    groups.map(async (ranks, rank) => {
      const values = new Float64Array(layout.floats)
      const put = (from: Float64Array, start: number, end: number, factor: number) => {
        for (let i = start; i < end; i++) values[i] = factor * from[i]!
      }
      const params = new ParallelParams<Float64Array>({
        ...{ ranks, program, layout, sharded, segments: 1, groups: [0, 0], counted: [false, false] },
        inner: directly(stores[rank]!),
        room: { values, put },
        open: plainUnion,
        zeros: (length) => new Float64Array(length),
      })
      for (let k = 0; k < stepsOf(rank); k++)
        await exactStep(problem, byOwner(params, owners), sliceOf(samples(BATCH, k), rank, size), 1)
      await params.drain(true, false)
    }),
  )
  return stores
}

/** Signs in the order of their owners, as kernels give them, and rows and gradients along with them. */
function byOwner(params: ParallelParams<Float64Array>, owners: number): Params<Float64Array> {
  const sorted = (share: BatchParams<Float64Array>) => {
    const { signs } = share.tables[0]!.distinct
    const order = [...signs.keys()].sort((a, b) => ownerOf(signs[a]!, owners) - ownerOf(signs[b]!, owners))
    const lengths = new Uint32Array(owners)
    for (const sign of signs) lengths[ownerOf(sign, owners)]!++
    const distinct = { signs: BigUint64Array.from(order, (i) => signs[i]!), lengths }
    const moved = ({ table, rows, gradients }: BatchRows<Float64Array>) => {
      const dim = rows.length / signs.length
      const pick = (from: Float64Array) =>
        Float64Array.from(order.flatMap((i) => [...from.subarray(i * dim, (i + 1) * dim)]))
      return { table, distinct, rows: pick(rows), gradients: pick(gradients) }
    }
    return { order, share: { ...share, tables: share.tables.map(moved) } }
  }
  return {
    async pull(share, insert) {
      const { order, share: own } = sorted(share)
      await params.pull(own, insert)
      for (const [t, { rows }] of share.tables.entries()) {
        const dim = rows.length / order.length
        for (const [at, i] of order.entries()) rows.set(own.tables[t]!.rows.subarray(at * dim, (at + 1) * dim), i * dim)
      }
    },
    push: (share) => params.push(sorted(share).share),
    flush: () => undefined,
  }
}

/** The plain twin of KernelUnion. */
function plainUnion(dims: readonly number[]): SignUnion<Float64Array> {
  let inverse: number[] = []
  let values: Float64Array[] = []
  return {
    distinct(signs) {
      const all = [...new Set(signs)]
      inverse = [...signs].map((sign) => all.indexOf(sign))
      values = dims.map((dim) => new Float64Array(all.length * dim))
      return { signs: BigUint64Array.from(all), lengths: Uint32Array.of(all.length) }
    },
    values: (table) => values[table]!,
    spread: (table, first, count) =>
      Float64Array.from(
        inverse
          .slice(first, first + count)
          .flatMap((row) => [...values[table]!.subarray(row * dims[table]!, (row + 1) * dims[table]!)]),
      ),
    add(table, gradients) {
      const [into, dim] = [values[table]!.fill(0), dims[table]!]
      for (const [i, row] of inverse.entries())
        for (let d = 0; d < dim; d++) into[row * dim + d]! += gradients[i * dim + d]!
      return into
    },
    addShowClick: (showClick) => showClick,
  }
}

function sliceOf<T>(batch: readonly T[], rank: number, size: number): readonly T[] {
  const [each, more] = [Math.floor(batch.length / size), batch.length % size]
  const from = rank * each + Math.min(rank, more)
  return batch.slice(from, from + each + (rank < more ? 1 : 0))
}

function directly(store: ReferenceStore): Params<Float64Array> {
  const signsOf = ({ tables }: BatchParams<Float64Array>) => {
    const own = [...tables].sort((a, b) => a.table - b.table)
    return { own, asked: { groups: own.map(({ distinct }) => distinct), tableGroups: own.map((_, i) => i) } }
  }
  return {
    pull(share) {
      const { own, asked } = signsOf(share)
      const rows = store.pull(asked, true)
      for (const [t, { rows: into }] of own.entries()) into.set(rows[t]!)
      share.weights.set(store.pullDense())
    },
    push(share) {
      const { own, asked } = signsOf(share)
      return store.push({ ...asked, gradients: own.map(({ gradients }) => gradients), dense: share.gradients })
    },
    flush: () => undefined,
  }
}
