import { expect, test } from 'vitest'
import { WorkspacePlan } from '../../base/kernel/index.ts'
import type { Clip } from '../../weights/optim/index.ts'
import type { DenseLayout } from '../../weights/params/index.ts'
import { clipGradients } from './clip.ts'

/** One dense parameter with gradient (3, 4) and one table row with gradient (0, 12): norms 5 and 12, together 13. */
function clipped(clip: Clip): number[][] {
  const plan = new WorkspacePlan()
  const [dense, table] = [plan.region(16), plan.region(8)]
  const { kernel, buffer } = plan.open()
  const gradients = new Float32Array(buffer, dense.at, 4)
  const rows = new Float32Array(buffer, table.at, 2)
  gradients.set([3, 4, 100, 0]) // the third is padding between entries: never touched
  rows.set([0, 12])
  const entry = { kind: 'parameter', name: 'w', shape: [2], at: 0, size: 2, trainable: true, l2: 0, rate: 1 } as const
  const layout: DenseLayout = { entries: [entry], floats: 4, trainable: 4 }
  const distinct = { signs: new BigUint64Array(1), lengths: new Uint32Array(1) }
  const share = { samples: 1, tables: [{ table: 0, distinct, rows, gradients: rows }], weights: gradients, gradients }
  clipGradients(clip, kernel, share, layout)
  return [[...gradients], [...rows]]
}

test('clipping by value limits each number', () => {
  expect(clipped({ kind: 'value', max: 3.5, min: -1 })).toEqual([
    [3, 3.5, 100, 0],
    [0, 3.5],
  ])
})

test('clipping by norm limits each parameter and table by itself', () => {
  expect(clipped({ kind: 'norm', max: 6 })).toEqual([
    [3, 4, 100, 0],
    [0, 6],
  ])
})

test('clipping by global norm scales everything alike', () => {
  expect(clipped({ kind: 'global_norm', max: 6.5 })).toEqual([
    [1.5, 2, 100, 0],
    [0, 6],
  ])
  expect(clipped({ kind: 'global_norm', max: 14 })).toEqual([
    [3, 4, 100, 0],
    [0, 12],
  ])
})
