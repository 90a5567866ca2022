/** @file Learning by contrast: true pairs beside negatives, which the data brings or the batch itself lends. */
import {
  add,
  cast,
  constant,
  count,
  expand,
  floor,
  gather,
  mean,
  minimum,
  mul,
  randomUniform,
  reshape,
  sub,
  type Tensor,
} from '../program/index.ts'
import { sigmoidCrossEntropy } from './loss.ts'
import { widthOf } from './shape.ts'

/** Negative sampling: the mean loss of true logits against 1 plus that of negative logits against 0; a scalar. */
export function negativeSampling(positive: Tensor, negative: Tensor): Tensor {
  const against = (logits: Tensor, label: number) =>
    mean(sigmoidCrossEntropy(logits, expand(constant(logits.builder, label), logits.shape)))
  return add(against(positive, 1), against(negative, 0))
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
