/** @file Signs named again and again, and taken some at a time; steps of all workers. */
import { expect, test } from 'vitest'
import { SignMerger } from '../../weights/table/index.ts'
import { GeoChanges, SignList } from './geo-changes.ts'
import type { GeoMessage } from './geo-protocol.ts'

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

/** Counts as a store does. */
function storeAfter(steps: number, denseSize: number) {
  const store = {
    steps,
    denseSize,
    push: () => ++store.steps,
    addRows: () => undefined,
    pullRows: () => ({ gradients: [], states: [] }),
  }
  return store
}

const exchange = (steps: number, sequence: number): GeoMessage =>
  ({ groups: [], tableGroups: [], gradients: [], dense: new Float32Array(0), isMore: false, steps, sequence }) as never

test.each([4, 0])('steps go on from those of a loaded model, and exchanges are none (%i dense weights)', (size) => {
  const store = storeAfter(700, size)
  const changes = new GeoChanges(2, 1)
  for (const [sequence, steps] of [0, 10, 5].entries()) changes.add(1, store as never, exchange(steps, sequence))
  expect(changes.take(0, exchange(0, 3), store as never).steps).toBe(715)
  expect(store.steps).toBe(700)
})

test('a worker hears of rows that others changed, and not of those that it alone did', () => {
  const asked: number[][] = []
  const pullRows = ({ groups }: GeoMessage) => {
    asked.push(groups.map(({ signs }) => signs.length))
    return { gradients: [], states: [] }
  }
  const store = { ...storeAfter(0, 0), pullRows }
  const changes = new GeoChanges(2, 1)
  const sent = (signs: BigUint64Array, sequence: number) =>
    ({
      ...exchange(1, sequence),
      groups: [{ signs, lengths: Uint32Array.of(signs.length) }],
      tableGroups: [0],
    }) as never
  changes.add(0, store as never, sent(run(0, 5), 1))
  changes.add(1, store as never, sent(run(3, 4), 1))
  for (const rank of [0, 1]) changes.take(rank, exchange(0, 1), store as never)
  expect(asked).toEqual([[4], [5]])
})
