import { expect, test } from 'vitest'
import type { Event } from './event.ts'
import { batch, epoch, START } from './example.testing.ts'
import { EMPTY_VIEW, foldView, remainingSeconds } from './view.ts'

const epochStart = (index: number): Event => ({ kind: 'epochStart', epoch: index, files: 1, bytes: 1 })

/** The view after events that come one second apart, and the time of the last. */
function after(...events: readonly Event[]) {
  const view = events.reduce((view, event, second) => foldView(view, event, second * 1000), EMPTY_VIEW)
  return { view, nowMs: (events.length - 1) * 1000 }
}

test('the remaining time extends the pace so far over all epochs', () => {
  // One second for a quarter of the first of two epochs: 1.75 epochs are left.
  const { view, nowMs } = after(START, epochStart(0), batch({ fraction: 0.25 }))
  expect(remainingSeconds(view, nowMs)).toBeCloseTo(7)
})

test('the pace counts from the first epoch of this run, not from epoch 0', () => {
  const { view, nowMs } = after(START, epochStart(1), batch({ epoch: 1, fraction: 0.25 }))
  expect(remainingSeconds(view, nowMs)).toBeCloseTo(3)
})

test('evaluation after the last epoch leaves nothing to wait for', () => {
  const { view, nowMs } = after(
    START,
    epochStart(1),
    epoch({ epoch: 1 }),
    batch({ phase: 'infer', epoch: 1, fraction: 0.1 }),
  )
  expect(remainingSeconds(view, nowMs)).toBe(0)
})

test('there is no estimate before the first batch or without a number of epochs', () => {
  const started = after(START, epochStart(0))
  expect(remainingSeconds(started.view, started.nowMs)).toBeUndefined()
  const unknown = after({ ...START, settings: {} }, epochStart(0), batch())
  expect(remainingSeconds(unknown.view, unknown.nowMs)).toBeUndefined()
})

test.each([epoch(), { kind: 'interrupted', epoch: 0, batch: 1, samples: 1 } as const])(
  '$kind ends the phase under way',
  (end) => {
    expect(after(START, epochStart(0), batch(), end).view.batch).toBeUndefined()
  },
)
