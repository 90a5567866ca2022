/** @file The end of a run on a terminal: plots that keep their width, time by its words, the one hint that helps most. */
import { expect, test } from 'vitest'
import type { EventOf } from './event.ts'
import { batch, START } from './example.testing.ts'
import { type Curves, foldCurves, foldWaited, hintLine, NOT_WAITED, plotLines, timeLine } from './run-end.ts'

const folded = (values: readonly number[]) =>
  values.reduce<Curves>((curves, loss) => foldCurves(curves, batch({ metrics: { loss, auc: 1 - loss } })), {})
const done = (more: Partial<EventOf<'done'>> = {}): EventOf<'done'> => ({
  ...{ kind: 'done', samples: 1, seconds: 1, samplesPerSecond: 1, metrics: {} },
  ...more,
})

test('loss falls and AUC rises in one line each', () => {
  expect(plotLines(folded([0.8, 0.6, 0.4, 0.2]), true)).toEqual([
    'loss █▆▃▁ 0.8000 to 0.2000',
    'auc  ▁▃▆█ 0.2000 to 0.8000',
  ])
  expect(plotLines(folded([0.8, 0.6, 0.4, 0.2]), false)[0]).toBe('loss @*-_ 0.8000 to 0.2000')
  expect(plotLines(folded([0.5, 0.4]), true)).toEqual([])
  expect(foldCurves(folded([0.5, 0.4]), START)).toEqual({})
})

test('a run of any length has 25 to 48 cells, whose means lose nothing', () => {
  for (const length of [48, 49, 1000, 10_000]) {
    const values = Array.from({ length }, (_, i) => i)
    const { cells, first, last } = folded(values)['loss']!
    expect(cells.length).toBeGreaterThanOrEqual(25)
    expect(cells.length).toBeLessThanOrEqual(48)
    expect(cells.reduce((sum, cell) => sum + cell.sum, 0)).toBe((length * (length - 1)) / 2)
    expect([first, last]).toEqual([0, length - 1])
    for (const line of plotLines(folded(values), true)) expect(line.length).toBeLessThanOrEqual(80)
  }
})

test('values that are no numbers are left out', () => {
  expect(folded([Number.NaN, 0.5, Number.POSITIVE_INFINITY, 0.25])['loss']!.cells).toHaveLength(2)
})

test('time is told by words, and the hint that would help most', () => {
  const breakdown = { load: 1, lookup: 2, gather: 1, run: 5, merge: 0.5, update: 0.5 }
  expect(timeLine(done({ breakdown }))).toEqual(['time compute 50 %  lookup 20 %  read 10 %  pull 10 %  push 10 %'])
  expect(timeLine(done())).toEqual([])
  const waited = foldWaited(NOT_WAITED, batch({ readerSecondsPerBatch: 0.4, secondsPerBatch: 1 }))
  expect(hintLine(done(), waited)[0]).toContain('40 % of the time it waited for input')
  expect(hintLine(done({ breakdown: { lookup: 6, run: 4 } }), NOT_WAITED)[0]).toContain('60 %')
  const epochs = [0, 1, 2, 3].map((epoch) => ({ epoch, train: {} }))
  const best = { epoch: 1, metric: 'auc', value: 0.7 }
  expect(hintLine(done({ epochs, best }), NOT_WAITED)[0]).toContain('that of epoch 1')
  expect(hintLine(done(), NOT_WAITED)).toEqual([])
})
