/** @file Ops along axes and the fused losses as functions. An axis may be negative: counted from the end. */
import type { Tensor } from './builder.ts'
import { greater, mul, square, sub, where } from './elementwise.ts'
import { reshape } from './layout.ts'
import type { Op, OpAttributes, OpKind } from './op.ts'
import { axisOf } from './operand.ts'

/** What a masked score is set to: low enough that e to it is 0, far from overflow. */
export const MASKED_SCORE = -1e9

type ReductionKind = { [K in OpKind]: OpAttributes[K] extends OpAttributes['sum'] ? K : never }[OpKind]
/** Over `axes`; by default over all of them, which gives a scalar. */
export type Reduce = (x: Tensor, axes?: number | readonly number[], keepdims?: boolean) => Tensor

function reduction<K extends ReductionKind>(kind: K): Reduce {
  return (x, axes, keepdims = false) => {
    const list = axes === undefined ? [...x.shape.keys()] : [axes].flat().map((axis) => axisOf(x, axis))
    const sorted = [...new Set(list)].sort((a, b) => a - b)
    return sorted.length === 0 ? x : x.builder.emit({ kind, axes: sorted, keepdims } as unknown as Op<K>, [x])
  }
}

/** The sum over axes, or over all. */
export const sum = reduction('sum')
/**
 * The mean over axes, or over all.
 *
 * @example mean(sigmoidCrossEntropy(logit, label)) // a scalar: what a net minimizes
 */
export const mean = reduction('mean')
/** The largest along axes, or of all. */
export const max = reduction('max')
/** The smallest along axes, or of all. */
export const min = reduction('min')
/** The product over axes, or over all. */
export const prod = reduction('prod')

/** The mean of squared distances from the mean (divided by n, not n - 1). */
export const variance: Reduce = (x, axes, keepdims = false) =>
  mean(square(sub(x, mean(x, axes ?? [...x.shape.keys()], true))), axes, keepdims)

/** e to the x, divided by their sum along an axis. */
export function softmax(x: Tensor, axis = -1): Tensor {
  return x.builder.emit({ kind: 'softmax', axis: axisOf(x, axis) }, [x])
}

/** The logarithm of softmax, computed without overflow. */
export function logSoftmax(x: Tensor, axis = -1): Tensor {
  return x.builder.emit({ kind: 'log_softmax', axis: axisOf(x, axis) }, [x])
}

/** softmax over the positions where the mask (broadcast to x) is 1; the others get 0, also where all are masked. */
export function maskedSoftmax(x: Tensor, mask: Tensor, axis = -1): Tensor {
  return mul(softmax(where(greater(mask, 0), x, MASKED_SCORE), axis), mask)
}

/** logits [.., C] and integer labels [.., 1] -> the loss of each sample [.., 1]. */
export function softmaxCrossEntropy(logits: Tensor, labels: Tensor): Tensor {
  return logits.builder.emit({ kind: 'softmax_cross_entropy' }, [logits, labels])
}

/** logits and labels (0 to 1) of one shape -> the loss of each element. */
export function sigmoidCrossEntropy(logits: Tensor, labels: Tensor): Tensor {
  return logits.builder.emit({ kind: 'sigmoid_cross_entropy' }, [logits, labels])
}

/** Running sums along an axis. */
export function cumsum(
  x: Tensor,
  axis: number,
  { exclusive = false, reverse = false }: { exclusive?: boolean; reverse?: boolean } = {},
): Tensor {
  return x.builder.emit({ kind: 'cumsum', axis: axisOf(x, axis), exclusive, reverse }, [x])
}

/** Matrix product over the two last axes; leading axes broadcast. */
export function matmul(a: Tensor, b: Tensor): Tensor {
  if (b.shape.length !== 2 || a.shape.length < 2) return a.builder.emit({ kind: 'matmul' }, [a, b])
  if (a.shape.length === 2) return gemm(a, b)
  // One product of a tall matrix: its weight gradient then needs no sum over the batch.
  const flat = reshape(a, [-1, a.shape.at(-1)!])
  return reshape(gemm(flat, b), [...a.shape.slice(0, -1), b.shape[1]!])
}

export interface GemmOptions {
  readonly bias?: Tensor | undefined
  readonly transposeA?: boolean | undefined
  readonly transposeB?: boolean | undefined
}

/** a b (+ bias), either matrix optionally stored transposed. */
export function gemm(a: Tensor, b: Tensor, { bias, transposeA = false, transposeB = false }: GemmOptions = {}): Tensor {
  return a.builder.emit({ kind: 'gemm', transposeA, transposeB }, bias ? [a, b, bias] : [a, b])
}
