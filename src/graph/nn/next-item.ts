/** @file What models of sequences share: the state after the last item, the loss after every item, and ranks beside items that were drawn. */
import {
  add,
  cast,
  concat,
  div,
  equal,
  greater,
  log,
  logSoftmax,
  matmul,
  mean,
  mul,
  neg,
  reshape,
  slice,
  sub,
  sum,
  type Tensor,
  transpose,
  unsqueeze,
} from '../program/index.ts'
import { sigmoidCrossEntropy } from './loss.ts'
import { positions } from './sequence.ts'

/** The last element that is there: x [B, T, d], mask [B, T] -> [B, d]; zeros for an empty sequence. */
export function lastElement(x: Tensor, mask: Tensor): Tensor {
  const at = positions(mask.builder, mask.shape[1]!)
  const isLast = cast(equal(at, sub(sum(mask, 1, true), 1)), 'float32') // [B, T]
  return sum(mul(x, unsqueeze(isLast, 2)), 1)
}

/**
 * After every item the next one against 1 and another one against 0: summed over the items of a sequence, the mean over sequences. So an item
 * weighs the same whatever is in its batch; by the mean over a batch's items one of a short history would weigh many times one of a long one
 * where batches are of like length. states, own and others are [B, T, d].
 */
export function nextItemLoss(states: Tensor, own: Tensor, others: Tensor, mask: Tensor): Tensor {
  const against = (rows: Tensor, value: number) => {
    const scores = sum(mul(states, rows), 2) // [B, T]
    return sigmoidCrossEntropy(scores, add(mul(mask, 0), value))
  }
  return mean(sum(mul(add(against(own, 1), against(others, 0)), mask), 1))
}

/** What a user's vector says of the item taken beside others. */
export interface ItemRank {
  /** Of the item taken: [B, 1]. */
  readonly score: Tensor
  /** How many of the others score above it: [B, 1]. */
  readonly above: Tensor
  /** Cross-entropy of the item among all that are shown; a scalar. */
  readonly loss: Tensor
}

/** user and own [B, d], others [B, N, d] with a mask [B, N]. */
export function rankAmong(user: Tensor, own: Tensor, others: Tensor, mask: Tensor): ItemRank {
  const score = sum(mul(user, own), 1, true)
  const otherScores = reshape(matmul(unsqueeze(user, 1), transpose(others)), mask.shape)
  const above = sum(mul(cast(greater(otherScores, score), 'float32'), mask), 1, true)
  const loss = mean(neg(slice(logSoftmax(concat([score, otherScores], 1)), 1, 0, 1)))
  return { score, above, loss }
}

/** HR@k and NDCG@k of ranks from 0 on [B, 1], one item being the right one: the means over the batch. */
export function hitMetrics(above: Tensor, k: number): { readonly hr: Tensor; readonly ndcg: Tensor } {
  const isHit = cast(greater(k, above), 'float32')
  return { hr: mean(isHit), ndcg: mean(mul(isHit, div(Math.LN2, log(add(above, 2))))) }
}
