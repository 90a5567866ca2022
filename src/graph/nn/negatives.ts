/** @file Learning by contrast: true pairs beside negatives, which the data brings or the batch itself lends. */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import {
  add,
  and,
  cast,
  constant,
  count,
  equal,
  expand,
  floor,
  gather,
  gemm,
  logSoftmax,
  MASKED_SCORE,
  mean,
  minimum,
  mul,
  neg,
  not,
  randomUniform,
  reshape,
  sub,
  sum,
  type Tensor,
  transpose,
  unsqueeze,
  where,
} from '../program/index.ts'
import { sigmoidCrossEntropy } from './loss.ts'
import { positions } from './sequence.ts'
import { widthOf } from './shape.ts'

/** Negative sampling: the mean loss of true logits against 1 plus that of negative logits against 0; a scalar. */
export function negativeSampling(positive: Tensor, negative: Tensor): Tensor {
  const against = (logits: Tensor, label: number) =>
    mean(sigmoidCrossEntropy(logits, expand(constant(logits.builder, label), logits.shape)))
  return add(against(positive, 1), against(negative, 0))
}

/** Options of inBatchSoftmax. */
export interface InBatchOptions {
  /** Divides the scores. @default 1 */
  readonly temperature?: number | undefined
  /** [B, 1]: the logarithm of how often each item is in a batch; taken off its scores, so that popular ones are not punished for it. */
  readonly logQ?: Tensor | undefined
  /** [B, 1]: numbers of the items; an item that another sample took as well is no negative of this one. */
  readonly ids?: Tensor | undefined
}

const IN_BATCH: OptionNames<InBatchOptions> = { temperature: true, logQ: true, ids: true }

/** Cross-entropy of each sample's own item among the items of the whole batch: queries and items [B, d] -> [B, 1]. */
export function inBatchSoftmax(
  queries: Tensor,
  items: Tensor,
  { temperature = 1, logQ, ids, ...rest }: InBatchOptions = {},
): Tensor {
  refuseOptions('nn.inBatchSoftmax', rest, IN_BATCH)
  const scores = mul(gemm(queries, items, { transposeB: true }), 1 / temperature) // [B, B]
  const corrected = logQ ? sub(scores, transpose(logQ)) : scores
  const at = positions(queries.builder, queries.shape[0]!)
  const own = equal(unsqueeze(at, 1), at) // [B, B]
  const visible = ids ? where(and(equal(ids, transpose(ids)), not(own)), MASKED_SCORE, corrected) : corrected
  return neg(sum(where(own, logSoftmax(visible), 0), 1, true))
}

/**
 * For each of the batch `samples` positions of the batch at random, the same for all who ask by this name in a step:
 * [B, samples]. A sample may draw itself.
 */
export function drawFromBatch(
  like: Tensor,
  { name, samples }: { readonly name: string; readonly samples: number },
): Tensor {
  const { builder, shape } = like
  const size = count(builder, [shape[0]!])
  const drawn = floor(mul(randomUniform(builder, [shape[0]!, samples], name), size))
  return cast(minimum(drawn, sub(size, 1)), 'int64')
}

/** Rows [B, d] of the batch by positions [B, samples] -> [B, samples, d]. */
export function takeFromBatch(rows: Tensor, positions: Tensor): Tensor {
  return reshape(gather(rows, positions), [...positions.shape, widthOf(rows, 'takeFromBatch')])
}
