/** @file Workers that keep pace: who waits, for whom, and what ends the wait. */
import { expect, test } from 'vitest'
import { Pace } from './pace.ts'

const LONG_MS = 60_000

/** Workers 0 to 2 of a pass, and whether an answer has come. */
function begin(patienceMs = LONG_MS) {
  const pace = new Pace(patienceMs)
  for (const rank of [0, 1, 2]) pace.join(rank)
  const ask = (rank: number, done: number, next: number, ahead: number) => {
    const asked = { answered: false, answer: pace.report(rank, { done, next, ahead }) }
    void asked.answer.then(() => {
      asked.answered = true
    })
    return asked
  }
  return { pace, ask }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a worker may be so many rounds ahead of the slowest, and goes on when that one has caught up', async () => {
  const { pace, ask } = begin()
  expect(await ask(0, 1, 2, 2).answer).toEqual({ slowest: 0, awaited: [1, 2] })
  const third = ask(0, 2, 3, 2)
  await turn()
  expect(third.answered).toBe(false)
  await pace.report(1, { done: 1, ahead: 2 })
  await turn()
  expect(third.answered).toBe(false)
  await pace.report(2, { done: 1, ahead: 2 })
  expect(await third.answer).toEqual({ slowest: 1, awaited: [1, 2] })
})

test('with 0 nobody begins a round before all have ended the last', async () => {
  const { pace, ask } = begin()
  await ask(0, 0, 0, 0).answer
  const second = ask(0, 1, 1, 0)
  await pace.report(1, { done: 1, ahead: 0 })
  await turn()
  expect(second.answered).toBe(false)
  await pace.report(2, { done: 1, ahead: 0 })
  await second.answer
})

test('a worker that leaves or is gone is not waited for', async () => {
  const { pace, ask } = begin()
  await pace.report(1, { done: 9, ahead: 0 })
  const waiting = ask(0, 9, 9, 0)
  await turn()
  expect(waiting.answered).toBe(false)
  pace.leave(2)
  expect(await waiting.answer).toEqual({ slowest: 9, awaited: [1] })
  pace.leave(1)
  expect(await ask(0, 9, 1000, 0).answer).toEqual({ slowest: null, awaited: [] })
})

test('after a while the answer says who is behind, so that it can be told', async () => {
  const { pace, ask } = begin(20)
  await pace.report(1, { done: 4, ahead: 1 })
  expect(await ask(0, 5, 5, 1).answer).toEqual({ slowest: 0, awaited: [2] })
})

test('a pass begins anew for those who join', async () => {
  const { pace, ask } = begin()
  for (const rank of [0, 1, 2]) await pace.report(rank, { done: 7, ahead: 0 })
  for (const rank of [0, 1, 2]) pace.leave(rank)
  for (const rank of [0, 1, 2]) pace.join(rank)
  const second = ask(0, 1, 1, 0)
  await turn()
  expect(second.answered).toBe(false)
  pace.leave(1)
  pace.leave(2)
  await second.answer
})
