/** @file Recall@K, NDCG@K and the reciprocal rank of ranks worked out by hand. */
import { expect, it } from 'vitest'
import { rankingNames, rankingSums } from './ranking.ts'

it('sums Recall@K, NDCG@K and reciprocal ranks; an item that is not there adds nothing', () => {
  const sums = rankingSums([1, 3, 10, 11, Number.POSITIVE_INFINITY], [3, 10])
  expect(Object.keys(sums)).toEqual(rankingNames([3, 10]))
  expect(sums['recall@3']).toBe(2)
  expect(sums['recall@10']).toBe(3)
  expect(sums['ndcg@3']).toBeCloseTo(1 + 1 / 2, 12) // 1/log2(2) + 1/log2(4)
  expect(sums['ndcg@10']).toBeCloseTo(1.5 + 1 / Math.log2(11), 12)
  expect(sums['mrr']).toBeCloseTo(1 + 1 / 3 + 1 / 10 + 1 / 11, 12)
})
