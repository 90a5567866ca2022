/** @file Rows whose weights are bfloat16: the kernel beside its plain twin, bit by bit, and what rounding by chance is for. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nearestBfloat16, readWeights, writeWeights } from '../../base/kernel/index.ts'
import { deriveSeed } from '../../base/util/index.ts'
import { kernelRule, type OptimizerSpec, optimizer, stepFactors } from '../optim/index.ts'
import { applyReference, type Cell } from '../optim/reference.testing.ts'
import { byChance, nearest } from './precision-reference.testing.ts'
import { createTable, type DistinctSigns, SparseTable } from './table.ts'

const SEED = deriveSeed(7, 'table:emb')
const one = (sign: bigint): DistinctSigns => ({ signs: BigUint64Array.of(sign), lengths: Uint32Array.of(1) })
const tableOf = (dim: number, spec: OptimizerSpec, low = -1) => {
  const init = { kind: 'uniform', low, high: 1 } as const
  const rest = { name: 'emb', dim, init, optimizer: spec, seed: 7, segments: 1 }
  return new SparseTable(createTable({ ...rest, precision: 'bfloat16' }), 0)
}
const stored = (table: SparseTable, sign: bigint) => {
  const weights = new Float32Array(table.dim)
  readWeights(table.row(one(sign))!, 1, table.weightShape, weights)
  return [...weights]
}

const SPECS: readonly OptimizerSpec[] = [
  optimizer.sgd({ learningRate: 0.1 }),
  optimizer.momentum({ learningRate: 0.1, nesterov: true }),
  optimizer.adagrad({ learningRate: 0.05, initialAccumulator: 3 }),
  optimizer.rmsprop({ learningRate: 0.01, momentum: 0.9, centered: true }),
  optimizer.adam({ learningRate: 0.01, lazy: true }),
  optimizer.ftrl({ learningRate: 0.1, l1: 0.05, l2Proximal: 0.1, initialAccumulator: 0.1 }),
]

test.each(SPECS.map((spec) => [spec.kind, spec] as const))(
  '%s on bfloat16 weights equals its twin bit for bit, whatever the dim, the sign and the gradients',
  (_, spec) => {
    const gradient = fc.float({ min: -10, max: 10, noNaN: true })
    const steps = fc.array(fc.array(gradient, { minLength: 11, maxLength: 11 }), { minLength: 1, maxLength: 6 })
    const rule = kernelRule(spec)
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 11 }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        steps,
        (dim, sign, all) => {
          const table = tableOf(dim, spec)
          const [rows, imagined] = [new Float32Array(dim), new Float32Array(dim)]
          table.lookup(one(sign), imagined, false)
          table.lookup(one(sign), rows, true)
          expect([...rows]).toEqual([...imagined].map(nearest))
          const cells: Cell[] = [...rows].map((weight) => ({
            weight,
            state: Array.from({ length: rule.states }, (_, i) => (i === 0 ? Math.fround(rule.stateInit) : 0)),
          }))
          for (const [i, gradients] of all.entries()) {
            const factors = stepFactors(spec, i + 1)
            table.update(one(sign), Float32Array.from(gradients.slice(0, dim)), factors, 0.01)
            for (const [j, cell] of cells.entries()) applyReference(rule, factors, 0.01, cell, gradients[j]!)
            const weights = cells.map(({ weight }) => weight)
            for (const [j, weight] of byChance(weights, { seed: SEED, sign, step: i + 1 }).entries())
              cells[j]!.weight = weight
            table.lookup(one(sign), rows, true, stepFactors(spec, i + 2))
            expect([...rows]).toEqual(cells.map(({ weight }) => weight))
          }
          const floats = new Float32Array(table.row(one(sign))!.slice().buffer)
          const state = Array.from({ length: rule.states }, (_, s) => cells.map((cell) => cell.state[s]!)).flat()
          expect([...floats.subarray(Math.ceil(dim / 2))]).toEqual(state)
        },
      ),
      { numRuns: 60 },
    )
  },
)

test('a row that missed steps of Adam is moved through them and rounded once; who only looks sees it before it is rounded', () => {
  const [spec, sign, dim] = [optimizer.adam({ learningRate: 0.01 }), 42n, 5]
  const [table, plain] = [tableOf(dim, spec), tableOf(dim, spec)]
  const shown = new Float32Array(dim)
  for (const each of [table, plain]) {
    each.lookup(one(sign), undefined, true, stepFactors(spec, 1))
    each.update(one(sign), new Float32Array(dim).fill(1), stepFactors(spec, 1))
  }
  const before = stored(table, sign)
  table.lookup(one(sign), shown, false, stepFactors(spec, 30))
  expect(stored(table, sign)).toEqual(before)
  expect([...shown]).not.toEqual([...shown].map(nearest))
  const rows = new Float32Array(dim)
  table.lookup(one(sign), rows, true, stepFactors(spec, 30))
  expect([...rows]).toEqual(byChance([...shown], { seed: SEED, sign, step: 30, missed: true }))
  plain.lookup(one(sign), undefined, true, stepFactors(spec, 30))
  expect(table.row(one(sign))).toEqual(plain.row(one(sign)))
})

test('steps far below the last place of a weight add up', () => {
  const spec = optimizer.sgd({ learningRate: 1 })
  const [dim, steps, count] = [8, 400, 64]
  const table = tableOf(dim, spec, 1 - 2 ** -24) // all weights begin with 1, whose last place is 2^-7
  const signs: DistinctSigns = {
    signs: BigUint64Array.from({ length: count }, (_, i) => BigInt(i)),
    lengths: Uint32Array.of(count),
  }
  const rows = new Float32Array(dim * count)
  for (let step = 1; step <= steps; step++) {
    table.lookup(signs, rows, true)
    table.update(signs, new Float32Array(dim * count).fill(-(2 ** -11)), stepFactors(spec, step))
  }
  table.lookup(signs, rows, true)
  const mean = rows.reduce((sum, weight) => sum + weight, 0) / rows.length
  // To the nearest they would all be 1 still. Of 512 walks of 400 steps the mean strays by 0.001.
  expect(Math.abs(mean - (1 + steps * 2 ** -11))).toBeLessThan(0.005)
})

test('a weight that is not a number stays none, and infinity stays infinite', () => {
  const spec = optimizer.sgd({ learningRate: 1 })
  const table = tableOf(3, spec)
  const rows = new Float32Array(3)
  table.lookup(one(1n), rows, true)
  const gradients = Float32Array.of(Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
  table.update(one(1n), gradients, stepFactors(spec, 1))
  table.lookup(one(1n), rows, true)
  expect([...rows]).toEqual([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
})

test('weights written into rows are read out of them as they went in, the nearest where they do not fit', () => {
  const value = fc.oneof(fc.float(), fc.constantFrom(0, -0, 1, 2 ** -140, 3e38))
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 9 }), fc.boolean(), (values, isHalf) => {
      const precision = isHalf ? 'bfloat16' : 'float32'
      const rowBytes = (isHalf ? 4 * Math.ceil(values.length / 2) : 4 * values.length) + 8
      const shape = { weights: values.length, rowBytes, precision } as const
      const [rows, out] = [new Uint8Array(2 * rowBytes), new Float32Array(2 * values.length)]
      writeWeights(Float32Array.from([...values, ...values]), 2, shape, rows)
      readWeights(rows, 2, shape, out)
      const expected = values.map((v) => (isHalf ? nearest(v) : Math.fround(v)))
      expect([...out]).toEqual([...expected, ...expected])
      expect(rows.subarray(-8)).toEqual(new Uint8Array(8))
    }),
  )
  expect([1, 1 + 2 ** -8, 1 + 3 * 2 ** -8, Number.NaN].map(nearestBfloat16)).toEqual([0x3f80, 0x3f80, 0x3f82, 0x7fc0])
})

test('a row of dim 9 with Adam takes 92 bytes where float32 takes 108, its weights 20 where they take 36', () => {
  const spec = optimizer.adam({ lazy: true })
  expect(tableOf(9, spec).rowBytes).toBe(20 + 2 * 36)
  expect(tableOf(16, optimizer.sgd()).rowBytes).toBe(32)
})
