import { expect, test } from 'vitest'
import { stalledEvent } from './hang-watch.ts'
import { Patience } from './patience.ts'

test('what has never been so long is overdue after its least time, and said again when it has doubled', () => {
  const patience = new Patience()
  patience.begin('start', 0)
  expect([59_999, 60_000, 60_001, 119_999, 120_000].map((now) => patience.look(now)?.ms)).toEqual([
    ...[undefined, 60_000, undefined, undefined],
    120_000,
  ])
})

test('what used to be long has five times as long', () => {
  const patience = new Patience()
  patience.begin('save', 0)
  patience.begin('steps', 40_000)
  patience.begin('steps', 41_000)
  patience.begin('save', 50_000)
  expect(patience.look(50_000 + 199_999)).toBeUndefined()
  expect(patience.look(50_000 + 200_000)).toEqual({ stage: 'save', ms: 200_000, longestMs: 40_000 })
})

test('steps that come on are never overdue, however long all of them take', () => {
  const patience = new Patience()
  for (let now = 0; now < 10_000_000; now += 20_000) {
    patience.begin('steps', now)
    expect(patience.look(now + 19_999)).toBeUndefined()
  }
})

test('the first batch, which is reported by itself, says nothing of how long others take', () => {
  const patience = new Patience()
  patience.begin('steps', 0)
  patience.begin('steps', 1000, true) // batch 0
  expect(patience.look(1000 + 599_999)).toBeUndefined()
  patience.begin('steps', 101_000, true)
  patience.begin('steps', 201_000, true)
  expect(patience.look(201_000 + 499_999)).toBeUndefined()
  expect(patience.look(201_000 + 500_000)).toEqual({ stage: 'steps', ms: 500_000, longestMs: 100_000 })
})

test('steps of two quick intervals are overdue after their least time', () => {
  const patience = new Patience()
  for (const now of [0, 1000, 2000]) patience.begin('steps', now, true)
  expect(patience.look(2000 + 29_999)).toBeUndefined()
  expect(patience.look(2000 + 30_000)?.ms).toBe(30_000)
})

test('nothing is overdue where nothing is under way', () => {
  const patience = new Patience()
  patience.begin('start', 0)
  patience.begin(undefined, 1)
  expect(patience.look(1e9)).toBeUndefined()
})

test('how to see more is said where the signal is answered', () => {
  const answer = () => undefined
  process.on('SIGUSR1', answer)
  const { message } = stalledEvent({ stage: 'steps', ms: 61_000, longestMs: undefined }, [])
  process.off('SIGUSR1', answer)
  expect(message).toMatch(/^No report of training for 61 s by now\. kill -USR1 \d+ prints where each thread is\.$/)
})

test('the report says how long it was before, and who is waited for', () => {
  const { message, stalled } = stalledEvent({ stage: 'save', ms: 61_000, longestMs: 1230 }, ['worker[1] at "a cut"'])
  expect(message).toContain('A save takes 61 s by now, at most 1.2 s before. Waiting for worker[1] at "a cut".')
  expect(stalled).toEqual({ stage: 'save', seconds: 61, longestSeconds: 1.23, waitingFor: ['worker[1] at "a cut"'] })
})
