import { expect, test } from 'vitest'
import { joinMemories, UpdateLog } from './update-log.ts'

const push = (signs: readonly bigint[]) => ({
  groups: [{ signs: BigUint64Array.from(signs), lengths: Uint32Array.of(signs.length) }],
  tableGroups: [0, 0],
})

test('the newest push with a sign is found, by table', () => {
  const log = new UpdateLog()
  log.note(0, 1, push([1n, 2n]))
  log.note(1, 2, push([2n, 3n]))
  expect(log.find(1, 2n)).toMatchObject({ step: 2, worker: 1 })
  expect(log.find(0, 1n)).toMatchObject({ step: 1, worker: 0 })
  expect(log.find(2, 1n)).toBe(undefined)
  expect(log.find(0, 9n)).toBe(undefined)
})

test('it remembers about a million signs, then forgets the oldest pushes whole', () => {
  const log = new UpdateLog()
  const many = (from: number) => push(Array.from({ length: 300_000 }, (_, i) => BigInt(from + i)))
  for (let step = 1; step <= 5; step++) log.note(0, step, many(step * 1_000_000))
  expect(log.oldest).toMatchObject({ step: 3 })
  expect(log.find(0, 2_000_000n)).toBe(undefined)
  expect(log.find(0, 3_000_000n)).toMatchObject({ step: 3 })
  expect(log.find(0, 5_299_999n)).toMatchObject({ step: 5 })
})

test('of several memories the newest push counts, back to where one of them begins', () => {
  const update = (step: number, at: number) => ({ step, worker: 0, at })
  const memories = [
    { since: update(1, 10) },
    { lastUpdate: update(7, 70), since: update(3, 30) },
    { lastUpdate: update(5, 50) },
  ]
  expect(joinMemories(memories)).toEqual({ lastUpdate: update(7, 70), since: update(3, 30) })
  expect(joinMemories([{}, {}])).toEqual({})
})
