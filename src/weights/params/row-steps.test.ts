/** @file Rows by Adam's rule, and by Paddle's count of steps for sparse gradients. */
import { expect, test } from 'vitest'
import { optimizer as optimizers } from '../optim/index.ts'
import { createTable, SignMerger } from '../table/index.ts'
import { RowStore } from './row-store.ts'

/** How far one step moves a row. */
function moved(seen?: number): number {
  const optimizer = optimizers.adam({ learningRate: 0.001, lazy: true })
  const table = createTable({ name: 't', dim: 1, init: { kind: 'constant', value: 0 }, optimizer, seed: 1 })
  const store = new RowStore([{ ...table, optimizer }], 0)
  const distinct = new SignMerger(table.memories.length).distinct([BigUint64Array.of(7n)])
  const rows = new Float32Array(1)
  store.lookup([{ table: 0, distinct, rows }], { insert: true, step: 1 })
  const before = rows[0]!
  store.apply([{ table: 0, distinct, gradients: Float32Array.of(0.4) }], { step: 1, seen, samples: 1 })
  store.lookup([{ table: 0, distinct, rows }], { insert: false, step: 2 })
  return rows[0]! - before
}

test('the first step of Adam is the learning rate; with the powers of the next it is what Paddle 2.6.2 was seen to make', () => {
  expect(moved()).toBeCloseTo(-0.001, 7)
  expect(moved(2)).toBeCloseTo(-0.000744134, 7)
})
