/** @file The table at the end of a run, as wide as a terminal. */
import { expect, test } from 'vitest'
import type { EventOf } from './event.ts'
import { summaryLines } from './summary.ts'

const done = (names: readonly string[]) => {
  const measured = (by: number) => Object.fromEntries(names.map((name, i) => [name, (i + by) / 10]))
  const epochs = [0, 1].map((epoch) => ({ epoch, train: measured(epoch), test: measured(epoch + 1) }))
  return { epochs, best: { epoch: 1, metric: 'auc', value: 0.3 } } as unknown as EventOf<'done'>
}

test('few metrics are one table', () => {
  expect(summaryLines(done(['loss', 'auc']))).toEqual([
    'epoch  train loss  train auc  test loss  test auc',
    '0      0.0000      0.1000     0.1000     0.2000',
    '1      0.1000      0.2000     0.2000     0.3000    best auc',
  ])
})

test('many are two, of 80 columns at most', () => {
  const lines = summaryLines(done(['loss', 'logloss', 'copc', 'calibration', 'auc', 'gauc']))
  expect(lines[0]).toBe('train  loss    logloss  copc    calibration  auc     gauc')
  expect(lines[4]).toBe('test   loss    logloss  copc    calibration  auc     gauc')
  expect(lines[6]).toMatch(/^1 .* best auc$/)
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
})
