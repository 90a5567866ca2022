/** @file Where weights live: Paddle's own rules, by the written examples. */
import { expect, test } from 'vitest'
import { blockOf } from '../../data/index.ts'
import { denseSlices } from '../../weights/params/index.ts'
import { localShardOf, serverOf, shardOf } from '../../weights/table/index.ts'

test('10 shards over 3 servers are 4 a server, the last has 2', () => {
  const placement = { shards: 10, servers: 3 }
  expect([serverOf(7n, placement), localShardOf(7n, placement)]).toEqual([1, 3])
  expect([serverOf(19n, placement), localShardOf(19n, placement)]).toEqual([2, 1])
  expect(shardOf(19n, placement)).toBe(9)
  const owners = Array.from({ length: 10 }, (_, shard) => serverOf(BigInt(shard), placement))
  expect(owners).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
})

test('signs are unsigned: the largest has a shard like any other', () => {
  expect(shardOf(2n ** 64n - 1n, { shards: 10, servers: 3 })).toBe(5)
})

test.each([
  [100, 3, [34, 34, 32]],
  [99, 3, [34, 34, 31]],
  [2, 3, [1, 1, 0]],
  [0, 2, [0, 0]],
])('%i dense values over %i servers are cut into %j', (total, servers, sizes) => {
  const slices = denseSlices(total, servers)
  expect(slices.map(({ from, to }) => to - from)).toEqual(sizes)
  expect(slices.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i))).toEqual(
    Array.from({ length: total }, (_, i) => i),
  )
})

test('5 files for 2 workers are 3 and 2; 2 files for 3 workers leave one without', () => {
  const deal = (files: number, count: number) =>
    Array.from({ length: count }, (_, index) =>
      blockOf(
        Array.from({ length: files }, (_, i) => i),
        { index, count },
      ),
    )
  expect(deal(5, 2)).toEqual([
    [0, 1, 2],
    [3, 4],
  ])
  expect(deal(2, 3)).toEqual([[0], [1], []])
})
