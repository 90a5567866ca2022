/** @file The kernel of nearest vectors against a plain version, and against numbers worked out by hand. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createVectors, NearestKernel, setVectors, vectorAt } from './nearest.ts'

/** As the kernel adds: four sums side by side, each product and sum rounded to float32. */
function plainDot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const sums = [0, 0, 0, 0]
  for (let i = 0; i < a.length; i++) sums[i % 4] = Math.fround(sums[i % 4]! + Math.fround(a[i]! * b[i]!))
  return Math.fround(Math.fround(sums[0]! + sums[1]!) + Math.fround(sums[2]! + sums[3]!))
}

const rowsOf = (data: Float32Array, dim: number) =>
  Array.from({ length: data.length / dim }, (_, i) => data.subarray(i * dim, (i + 1) * dim))

/** Of each query its best rows, by sorting all. */
function plainSearch(items: Float32Array, queries: Float32Array, dim: number, interests: number, k: number) {
  const all = rowsOf(items, dim)
  return rowsOf(queries, dim * interests).map((query) => {
    const scored = all.map((row, i) => ({ i, score: Math.max(...rowsOf(query, dim).map((own) => plainDot(own, row))) }))
    return scored.sort((a, b) => b.score - a.score || a.i - b.i).slice(0, k)
  })
}

function kernelOf(items: Float32Array, dim: number): NearestKernel {
  const vectors = createVectors(items.length / dim, dim)
  setVectors(vectors, 0, items)
  return new NearestKernel(vectors)
}

const small = fc.integer({ min: -8, max: 8 }).map((n) => n / 4) // ties are common
const cases = fc
  .record({
    dim: fc.integer({ min: 1, max: 9 }),
    count: fc.integer({ min: 1, max: 40 }),
    interests: fc.integer({ min: 1, max: 3 }),
  })
  .chain(({ dim, count, interests }) =>
    fc.record({
      dim: fc.constant(dim),
      interests: fc.constant(interests),
      items: fc.array(small, { minLength: dim * count, maxLength: dim * count }),
      queries: fc.array(small, { minLength: 5 * interests * dim, maxLength: 5 * interests * dim }),
      k: fc.integer({ min: 1, max: 50 }),
    }),
  )

describe('nearest vectors', () => {
  it('are those of the plain version, ties by row, for any width, number of interests and k', () => {
    fc.assert(
      fc.property(cases, ({ dim, interests, k, ...given }) => {
        const [items, queries] = [Float32Array.from(given.items), Float32Array.from(given.queries)]
        const found = kernelOf(items, dim).search({ data: queries, interests }, k)
        const expected = plainSearch(items, queries, dim, interests, k)
        expect(found.map(({ rows }) => [...rows])).toEqual(expected.map((own) => own.map(({ i }) => i)))
        expect(found.map(({ scores }) => [...scores])).toEqual(expected.map((own) => own.map(({ score }) => score)))
      }),
      { numRuns: 60 },
    )
  })

  it('are the same among more rows than one block, and in ranges of them', () => {
    const [dim, count] = [6, 2500]
    const items = Float32Array.from({ length: dim * count }, (_, i) => Math.sin(i * 1.7))
    const queries = Float32Array.from({ length: dim * 3 }, (_, i) => Math.cos(i))
    const kernel = kernelOf(items, dim)
    const plain = plainSearch(items, queries, dim, 1, 20).map((own) => own.map(({ i }) => i))
    expect(kernel.search({ data: queries }, 20).map(({ rows }) => [...rows])).toEqual(plain)
    const ranges = [
      [
        [1000, 1003],
        [0, 2],
      ],
      [[2499, 2500]],
      [],
    ] as const
    const inside = kernel.search({ data: queries }, 20, ranges)
    expect(inside.map(({ rows }) => [...rows].sort((a, b) => a - b))).toEqual([[0, 1, 1000, 1001, 1002], [2499], []])
  })

  it('leave out scores that are no number', () => {
    const found = kernelOf(Float32Array.of(1, Number.NaN, 3), 1).search({ data: Float32Array.of(1) }, 3)
    expect([...found[0]!.rows]).toEqual([2, 0])
  })

  it('keep what was set, row by row', () => {
    const vectors = createVectors(3, 5)
    setVectors(vectors, 1, Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
    expect([...vectorAt(vectors, 0), ...vectorAt(vectors, 2)]).toEqual([0, 0, 0, 0, 0, 6, 7, 8, 9, 10])
  })
})

describe('the rank of a row', () => {
  it('is worked out by hand: a tie counts against it, rows left out do not, a query without a number is last', () => {
    // Scores of query [1, 0]: 3, 1, 2, 2, 0.
    const items = Float32Array.of(3, 0, 1, 0, 2, 5, 2, 0, 0, 9)
    const kernel = kernelOf(items, 2)
    const rank = (own: number, left: number[] = []) => kernel.ranks({ data: Float32Array.of(1, 0) }, [own], [left])[0]
    expect([rank(0), rank(2), rank(3), rank(1), rank(4)]).toEqual([1, 3, 3, 4, 5])
    expect(rank(1, [0, 3, 3])).toBe(2)
    expect(rank(1, [1, 4])).toBe(4) // its own row stays, and the other was below
    expect(kernel.ranks({ data: Float32Array.of(Number.NaN, 0) }, [0])[0]).toBe(Number.POSITIVE_INFINITY)
  })

  it('is that of the plain version for any number of queries', () => {
    fc.assert(
      fc.property(cases, fc.integer({ min: 0, max: 1000 }), ({ dim, interests, ...given }, seed) => {
        const [items, queries] = [Float32Array.from(given.items), Float32Array.from(given.queries)]
        const count = items.length / dim
        const own = Array.from({ length: 5 }, (_, i) => (seed + 7 * i) % count)
        const ranks = kernelOf(items, dim).ranks({ data: queries, interests }, own)
        const all = plainSearch(items, queries, dim, interests, count)
        const expected = all.map((scored, u) => {
          const mine = scored.find(({ i }) => i === own[u])!.score
          return scored.filter(({ score }) => score >= mine).length
        })
        expect([...ranks]).toEqual(expected)
      }),
      { numRuns: 60 },
    )
  })
})
