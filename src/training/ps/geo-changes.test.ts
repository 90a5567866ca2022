/** @file Signs named again and again, and taken some at a time. */
import { expect, test } from 'vitest'
import { SignMerger } from '../../weights/table/index.ts'
import { SignList } from './geo-changes.ts'

const run = (from: number, count: number) => BigUint64Array.from({ length: count }, (_, i) => BigInt(from + i))

test('signs are taken in the order they came, at most so many', () => {
  const list = new SignList(new SignMerger(1))
  list.add(run(0, 5))
  list.add(run(0, 0))
  list.add(run(10, 3))
  expect(list.take(4)).toEqual([run(0, 4)])
  expect(list.take(3)).toEqual([run(4, 1), run(10, 2)])
  expect(list.isEmpty).toBe(false)
  expect(list.take(9)).toEqual([run(12, 1)])
  expect(list.isEmpty).toBe(true)
  expect(list.take(9)).toEqual([])
})

test('what is named again and again takes no more room', () => {
  const list = new SignList(new SignMerger(1))
  for (let i = 0; i < 12; i++) list.add(run(0, 100_000))
  const taken = list.take(Number.POSITIVE_INFINITY)
  const count = taken.reduce((sum, { length }) => sum + length, 0)
  expect(count).toBeLessThan(1_100_000)
  expect(new Set(taken.flatMap((signs) => [...signs])).size).toBe(100_000)
})
