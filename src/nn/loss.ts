/** @file Losses: one number per sample unless said otherwise; take `mean` of them to train. */
import {
  add,
  cast,
  log,
  mul,
  neg,
  type Operand,
  reshape,
  sigmoidCrossEntropy as sigmoidLoss,
  softmaxCrossEntropy as softmaxLoss,
  square,
  sub,
  type Tensor,
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

/** A label in the shape and dtype of what it is compared with. */
function labelLike(label: Tensor, like: Tensor): Tensor {
  return cast(reshape(label, like.shape), like.dtype)
}
