import { expect, test } from 'vitest'
import { createRng } from '../../base/util/index.ts'
import { SignMerger } from '../table/index.ts'
import type { BatchRows } from './params.ts'
import { createRowRooms, SharedRows } from './shared-rows.ts'

const SEGMENTS = 4
const rng = createRng(5n)

/** What a thread may have of a table: distinct signs, of which others have some too, and random gradients. */
function share(dim: number, withShown: boolean, count: number): BatchRows {
  const drawn = BigUint64Array.from({ length: count }, () => BigInt(rng.below(2 * count)))
  const distinct = new SignMerger(SEGMENTS).distinct([drawn])
  const numbers = (length: number) => Float32Array.from({ length }, () => rng.below(100))
  const { length } = distinct.signs
  const shown = withShown && { showClick: numbers(3 * length).map((value, i) => (i % 3 === 0 ? 7 : value)) }
  return { table: 0, distinct, rows: new Float32Array(0), gradients: numbers(length * dim), ...shown }
}

/** By sign, in plain numbers. */
function sums(parts: readonly { distinct: BatchRows['distinct']; values: Float32Array }[], width: number) {
  const found = new Map<bigint, number[]>()
  for (const { distinct, values } of parts)
    for (const [i, sign] of distinct.signs.entries()) {
      const row = found.get(sign) ?? new Array<number>(width).fill(0)
      found.set(sign, row)
      for (let d = 0; d < width; d++) row[d]! += values[i * width + d]!
    }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

// Of three threads one has more segments than the others; the large batch grows the rooms.
test.each([
  [1, 20],
  [2, 3000],
  [3, 200],
])('%i threads: each sign is taken once, with the sum of what all have put', (threads, count) => {
  const rooms = createRowRooms(threads)
  const holds = rooms.map((_, thread) => new SharedRows(rooms, thread, SEGMENTS))
  for (const signs of [count, Math.floor(count / 2)]) {
    const tables = holds.map(() => [share(3, false, signs), share(8, true, signs)])
    for (const [thread, hold] of holds.entries()) hold.put(tables[thread]!)
    for (const [t, dim] of [3, 8].entries()) {
      const taken = holds.map((hold) => hold.take(t, threads, dim))
      const put = tables.map((own) => own[t]!)
      const all = taken.flatMap(({ distinct }) => [...distinct.signs])
      expect(new Set(all).size).toBe(all.length)
      const gradients = (rows: readonly Pick<BatchRows, 'distinct' | 'gradients'>[]) =>
        sums(
          rows.map(({ distinct, gradients: values }) => ({ distinct, values })),
          dim,
        )
      expect(gradients(taken)).toEqual(gradients(put))
      expect(taken.every(({ showClick }) => (showClick !== undefined) === (t === 1))).toBe(true)
    }
  }
})
