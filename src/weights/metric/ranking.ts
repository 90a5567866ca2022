/** @file Metrics of ranks: how near the top the item stands that a user took. Sums over samples, so that they are means of all in the end. */

/** Sums of Recall@K (of one item: the hit rate), NDCG@K and the reciprocal rank over samples, by name. Ranks begin at 1; Infinity is an item that is not there. */
export function rankingSums(ranks: ArrayLike<number>, at: readonly number[]): Record<string, number> {
  const sums: Record<string, number> = Object.fromEntries(rankingNames(at).map((name) => [name, 0]))
  for (let i = 0; i < ranks.length; i++) {
    const rank = ranks[i]!
    sums['mrr']! += 1 / rank
    for (const k of at) {
      if (rank > k) continue
      sums[`recall@${k}`]! += 1
      sums[`ndcg@${k}`]! += 1 / Math.log2(rank + 1)
    }
  }
  return sums
}

/** In the order in which they are shown. */
export function rankingNames(at: readonly number[]): string[] {
  return [...at.flatMap((k) => [`recall@${k}`, `ndcg@${k}`]), 'mrr']
}
