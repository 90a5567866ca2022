/** @file Ops along axes as functions. An axis may be negative: counted from the end. */
import type { Tensor } from './builder.ts'
import { greater, mul, square, sub, where } from './elementwise.ts'
import type { Op, OpAttributes, OpKind } from './op.ts'
import { axisOf } from './operand.ts'

/** Low enough that e to it is 0, far from overflow. */
const HIDDEN = -1e9

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

export const sum = reduction('sum')
export const mean = reduction('mean')
export const max = reduction('max')
export const min = reduction('min')
export const prod = reduction('prod')

/** The mean of squared distances from the mean (divided by n, not n - 1). */
export const variance: Reduce = (x, axes, keepdims = false) =>
  mean(square(sub(x, mean(x, axes ?? [...x.shape.keys()], true))), axes, keepdims)

export function softmax(x: Tensor, axis = -1): Tensor {
  return x.builder.emit({ kind: 'softmax', axis: axisOf(x, axis) }, [x])
}

export function logSoftmax(x: Tensor, axis = -1): Tensor {
  return x.builder.emit({ kind: 'log_softmax', axis: axisOf(x, axis) }, [x])
}

/** softmax over the positions where the mask (broadcast to x) is 1; the others get 0, also where all are masked. */
export function maskedSoftmax(x: Tensor, mask: Tensor, axis = -1): Tensor {
  return mul(softmax(where(greater(mask, 0), x, HIDDEN), axis), mask)
}

export function cumsum(
  x: Tensor,
  axis: number,
  { exclusive = false, reverse = false }: { exclusive?: boolean; reverse?: boolean } = {},
): Tensor {
  return x.builder.emit({ kind: 'cumsum', axis: axisOf(x, axis), exclusive, reverse }, [x])
}
