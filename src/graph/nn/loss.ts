/** @file Losses: one number per sample or element; take `mean` of them to train. */
import {
  add,
  cast,
  greater,
  log,
  mul,
  neg,
  type Operand,
  relu,
  reshape,
  sigmoidCrossEntropy as sigmoidLoss,
  softmaxCrossEntropy as softmaxLoss,
  square,
  sub,
  type Tensor,
  where,
} from '../program/index.ts'

/** logits [B, C] and integer classes [B, 1] or [B] -> [B, 1]. */
export function softmaxCrossEntropy(logits: Tensor, label: Tensor): Tensor {
  return softmaxLoss(logits, reshape(label, [...logits.shape.slice(0, -1), 1]))
}

/** logits and labels (0 to 1, any dtype, as many as logits) -> the shape of the logits. */
export function sigmoidCrossEntropy(logits: Tensor, label: Tensor): Tensor {
  return sigmoidLoss(logits, labelLike(label, logits))
}

/** -z ln(p + e) - (1 - z) ln(1 - p + e) on probabilities; on logits sigmoidCrossEntropy is exact and faster. */
export function logLoss(probability: Tensor, label: Tensor, { epsilon = 1e-4 }: { epsilon?: number } = {}): Tensor {
  const z = labelLike(label, probability)
  const term = (weight: Operand, p: Tensor) => mul(weight, log(add(p, epsilon)))
  return neg(add(term(z, probability), term(sub(1, z), sub(1, probability))))
}

/** (x - y)^2, elementwise. */
export function squareError(x: Tensor, label: Tensor): Tensor {
  return square(sub(x, labelLike(label, x)))
}

/** max(0, 1 - s x) with s = -1 for label 0 and 1 for label 1. */
export function hinge(x: Tensor, label: Tensor): Tensor {
  const side = sub(mul(labelLike(label, x), 2), 1)
  return relu(sub(1, mul(side, x)))
}

/** max(0, margin - s (left - right)): label s = 1 wants left ahead, -1 right. */
export function marginRank(
  left: Tensor,
  right: Tensor,
  label: Tensor,
  { margin = 0.1 }: { margin?: number } = {},
): Tensor {
  return relu(sub(margin, mul(labelLike(label, left), sub(left, right))))
}

/** p (ln p - logQ), elementwise: sum it for the divergence of q, given as logarithms, from p; 0 where p is 0. */
export function klDivergence(logQ: Tensor, p: Tensor): Tensor {
  return mul(p, sub(log(where(greater(p, 0), p, 1)), logQ))
}

/** A label in the shape and dtype of what it is compared with. */
function labelLike(label: Tensor, like: Tensor): Tensor {
  return cast(reshape(label, like.shape), like.dtype)
}
