/** @file Blocks and placement by Paddle's rules, on worked examples. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dealBlocks, drawnBlocks, sliceVariable } from './slicing.ts'

const options = { servers: 4, minBlockSize: 8192, sliceVarUp: true }

describe('sliceVariable', () => {
  test.each([
    [
      [1000, 100],
      [25_000, 25_000, 25_000, 25_000],
    ],
    [
      [999, 100],
      [25_000, 25_000, 25_000, 24_900],
    ],
    [
      [200, 100],
      [10_000, 10_000],
    ],
    [[100], [100]],
  ])('%j is cut into %j', (shape, sizes) => {
    expect(sliceVariable({ name: 'w', shape }, options).map(({ size }) => size)).toEqual(sizes)
  })

  test('names blocks by number, and a whole variable by its own name', () => {
    const [first, second] = sliceVariable({ name: 'fc_0.w_0', shape: [200, 100] }, options)
    expect([first!.name, first!.shape, second!.name, second!.from]).toEqual([
      'fc_0.w_0.block0',
      [100, 100],
      'fc_0.w_0.block1',
      10_000,
    ])
    expect(sliceVariable({ name: 'b', shape: [100] }, options)[0]).toMatchObject({ name: 'b', shape: [100] })
    expect(sliceVariable({ name: 'w', shape: [1000, 100] }, { ...options, sliceVarUp: false })).toHaveLength(1)
  })

  test('blocks are whole rows that make up the variable', () => {
    const shapes = fc.tuple(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 200 }))
    fc.assert(
      fc.property(shapes, fc.integer({ min: 1, max: 9 }), ([rows, columns], servers) => {
        const blocks = sliceVariable({ name: 'w', shape: [rows, columns] }, { ...options, servers })
        let at = 0
        for (const { from, size } of blocks) {
          expect([from, size % columns]).toEqual([at, 0])
          at += size
        }
        expect(at).toBe(rows * columns)
        expect(blocks.length).toBeLessThanOrEqual(servers)
      }),
    )
  })
})

describe('dealBlocks', () => {
  const shapes = { a: [1000, 100], b: [200, 100], c: [100] }
  const blocks = Object.entries(shapes).flatMap(([name, shape]) => sliceVariable({ name, shape }, options))

  test('RoundRobin goes on from one variable to the next', () => {
    expect(dealBlocks(blocks, 4, 'RoundRobin')).toEqual([0, 1, 2, 3, 0, 1, 2])
  })

  test('HashName depends on the name alone', () => {
    const dealt = dealBlocks(blocks, 4, 'HashName')
    expect(dealBlocks(blocks.toReversed(), 4, 'HashName')).toEqual(dealt.toReversed())
  })

  test('whole variables are dealt out in an order drawn from the seed', () => {
    const names = (seed: number) => drawnBlocks(blocks, seed).map(({ name }) => name)
    expect(names(7)).toEqual(names(7))
    expect(names(7).sort()).toEqual(names(8).sort())
    expect([1, 2, 3, 4].map((seed) => names(seed).join())).toHaveLength(4)
  })
})
