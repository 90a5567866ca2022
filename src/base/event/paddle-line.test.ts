/** @file What is printed for a log is read back from it. */
import { expect, test } from 'vitest'
import { RUN } from './example.testing.ts'
import { paddleSink } from './paddle.ts'
import { readPaddleLine } from './paddle-line.ts'

test('batches, epochs, checkpoints, warnings and the end come back from their lines, with their time', () => {
  const now = new Date(2026, 0, 31, 8, 5, 9, 42)
  let text = ''
  const sink = paddleSink((chunk) => (text += chunk), { now: () => now })
  for (const event of RUN) sink(event)
  const read = text.split('\n').flatMap((line) => readPaddleLine(line) ?? [])
  expect(new Set(read.map(({ at }) => at))).toEqual(new Set([now.getTime()]))
  const events = read.map(({ event }) => event)
  expect(events.map(({ kind }) => kind)).toEqual([
    ...['warning', 'batch', 'epoch', 'batch', 'epoch', 'saved', 'warning', 'error', 'done'],
  ])
  expect(events[1]).toMatchObject({
    ...{
      phase: 'train',
      epoch: 0,
      batch: 350,
      samples: 351 * 512,
      samplesPerSecond: 76_761.6,
      secondsPerBatch: 0.00667,
    },
    metrics: { loss: 0.5123457, auc: 0.712345 },
  })
  expect(events[4]).toMatchObject({ phase: 'infer', epoch: 0, seconds: 0.3, metrics: { loss: 0.5, auc: 0.7234567 } })
  expect(events[5]).toMatchObject({ path: 'model_output/0', epoch: 0 })
})

test('other lines are none, and what is no number is left out', () => {
  for (const line of ['', 'hello', '2026-13-77 99:05:09,042 - INFO - epoch: 0 done, epoch time: 1 s', '@'.repeat(9999)])
    expect(readPaddleLine(line)).toBe(undefined)
  const head = '2026-01-31 08:05:09,042 - INFO - '
  const line = `${head}epoch: 1 done, loss: nan, auc: 1.5e-05, <b>: 3, top: inf, x: 1..2, epoch time: 2.00 s`
  expect(readPaddleLine(line)!.event).toMatchObject({
    epoch: 1,
    metrics: { loss: Number.NaN, auc: 1.5e-5, top: Number.POSITIVE_INFINITY, x: Number.NaN },
  })
})
