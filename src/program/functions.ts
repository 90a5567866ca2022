/** @file Ops as functions on tensors: normalises axes and scalars, then emits. What needs several ops is composed here. */
import type { Builder, Tensor } from './builder.ts'
import { type Dim, type Shape, sameShape, subDims } from './dim.ts'
import type { DType, Op, OpAttributes, OpKind } from './op.ts'
import { inferReshape } from './shape-rules.ts'

/** A tensor, or a number that takes the other operand's dtype. */
export type Operand = Tensor | number

type Plain = { [K in OpKind]: Record<never, never> extends OpAttributes[K] ? K : never }[OpKind]
const unary =
  <K extends Plain>(kind: K) =>
  (x: Tensor): Tensor =>
    x.builder.emit({ kind } as Op<K>, [x])
const binary =
  <K extends Plain>(kind: K) =>
  (a: Operand, b: Operand): Tensor => {
    const [left, right] = promote(a, b)
    return left.builder.emit({ kind } as Op<K>, [left, right])
  }

export const neg = unary('neg')
export const exp = unary('exp')
export const log = unary('log')
export const sqrt = unary('sqrt')
export const abs = unary('abs')
export const square = unary('square')
export const relu = unary('relu')
export const sigmoid = unary('sigmoid')
export const tanh = unary('tanh')
export const stopGradient = unary('stop_gradient')

export const add = binary('add')
export const sub = binary('sub')
export const mul = binary('mul')
export const div = binary('div')
export const minimum = binary('minimum')
export const maximum = binary('maximum')
export const greater = binary('greater')
export const equal = binary('equal')
export const less = (a: Operand, b: Operand): Tensor => greater(b, a)
/** The first while training, the second at inference. */
export const phase = binary('phase')

export function where(condition: Tensor, a: Operand, b: Operand): Tensor {
  const [left, right] =
    typeof a === 'number' && typeof b === 'number'
      ? [constant(condition.builder, a), constant(condition.builder, b)]
      : promote(a, b)
  return condition.builder.emit({ kind: 'where' }, [condition, left, right])
}

/** The operand with every value held within [low, high]. */
export function clip(x: Tensor, low: number, high: number): Tensor {
  return minimum(maximum(x, low), high)
}

export function cast(x: Tensor, to: DType): Tensor {
  return x.dtype === to ? x : x.builder.emit({ kind: 'cast', to }, [x])
}

/** A constant: a number, or values in row-major order with their shape. */
export function constant(
  builder: Builder,
  values: number | readonly number[],
  { shape = [], dtype = 'float32' }: { shape?: readonly number[]; dtype?: DType } = {},
): Tensor {
  return builder.emit({ kind: 'constant', values: typeof values === 'number' ? [values] : values, shape, dtype }, [])
}

/** The element count of a shape as a float scalar: a constant where it is known now. */
export function count(builder: Builder, dims: Shape): Tensor {
  if (dims.every((dim) => typeof dim === 'number'))
    return constant(
      builder,
      dims.reduce((product, dim) => product * dim, 1),
    )
  return builder.emit({ kind: 'count', dims: dims.filter((dim) => dim !== 1) }, [])
}

/** Matrix product over the two last axes; leading axes broadcast. */
export function matmul(a: Tensor, b: Tensor): Tensor {
  if (b.shape.length !== 2 || a.shape.length < 2) return a.builder.emit({ kind: 'matmul' }, [a, b])
  if (a.shape.length === 2) return gemm(a, b)
  // One product of a tall matrix: its weight gradient then needs no sum over the batch.
  const flat = reshape(a, [-1, a.shape.at(-1)!])
  return reshape(gemm(flat, b), [...a.shape.slice(0, -1), b.shape[1]!])
}

/** a b (+ bias), either matrix optionally transposed. */
export function gemm(
  a: Tensor,
  b: Tensor,
  { bias, transposeA = false, transposeB = false }: { bias?: Tensor; transposeA?: boolean; transposeB?: boolean } = {},
): Tensor {
  return a.builder.emit({ kind: 'gemm', transposeA, transposeB }, bias ? [a, b, bias] : [a, b])
}

type ReductionKind = { [K in OpKind]: OpAttributes[K] extends OpAttributes['sum'] ? K : never }[OpKind]
const reduction =
  <K extends ReductionKind>(kind: K) =>
  /** Over `axes` (default: all, which gives a scalar). */
  (x: Tensor, axes?: number | readonly number[], keepdims = false): Tensor => {
    const list = axes === undefined ? x.shape.map((_, i) => i) : [axes].flat().map((axis) => axisOf(x, axis))
    return list.length === 0
      ? x
      : x.builder.emit({ kind, axes: list.toSorted((a, b) => a - b), keepdims } as unknown as Op<K>, [x])
  }
export const sum = reduction('sum')
export const mean = reduction('mean')
export const max = reduction('max')

export function softmax(x: Tensor, axis = -1): Tensor {
  return x.builder.emit({ kind: 'softmax', axis: axisOf(x, axis) }, [x])
}

export function logSoftmax(x: Tensor, axis = -1): Tensor {
  return x.builder.emit({ kind: 'log_softmax', axis: axisOf(x, axis) }, [x])
}

export function reshape(x: Tensor, shape: Shape): Tensor {
  const full = inferReshape(x.shape, shape)
  return sameShape(full, x.shape) ? x : x.builder.emit({ kind: 'reshape', shape: full }, [x])
}

/** Adds an axis of size 1 that becomes axis `axis`. */
export function unsqueeze(x: Tensor, axis: number): Tensor {
  return reshape(x, x.shape.toSpliced(axis < 0 ? axis + x.shape.length + 1 : axis, 0, 1))
}

/** Removes axes of size 1. */
export function squeeze(x: Tensor, axes: number | readonly number[]): Tensor {
  const drop = [axes].flat().map((axis) => axisOf(x, axis))
  return reshape(
    x,
    x.shape.filter((_, i) => !drop.includes(i)),
  )
}

export function expand(x: Tensor, shape: Shape): Tensor {
  return sameShape(x.shape, shape) ? x : x.builder.emit({ kind: 'expand', shape }, [x])
}

/** Reorders axes; without a permutation swaps the last two. */
export function transpose(x: Tensor, permutation?: readonly number[]): Tensor {
  const last = x.shape.length - 1
  const order = permutation ?? x.shape.map((_, i) => (i === last ? last - 1 : i === last - 1 ? last : i))
  return x.builder.emit({ kind: 'transpose', permutation: order.map((axis) => axisOf(x, axis)) }, [x])
}

export function concat(tensors: readonly Tensor[], axis: number): Tensor {
  const [first] = tensors
  if (!first) throw new Error('concat needs at least one tensor.')
  return tensors.length === 1 ? first : first.builder.emit({ kind: 'concat', axis: axisOf(first, axis) }, tensors)
}

/** Elements [start, end) of an axis; negative numbers count from its end. */
export function slice(x: Tensor, axis: number, start: Dim, end?: Dim): Tensor {
  const at = axisOf(x, axis)
  const size = x.shape[at]!
  const fromEnd = (dim: Dim): Dim => (typeof dim === 'number' && dim < 0 ? subDims(size, -dim) : dim)
  const [from, to] = [fromEnd(start), fromEnd(end ?? size)]
  return from === 0 && to === size ? x : x.builder.emit({ kind: 'slice', axis: at, start: from, end: to }, [x])
}

/** Zeros before and after along an axis. */
export function pad(x: Tensor, axis: number, before: Dim, after: Dim): Tensor {
  return before === 0 && after === 0 ? x : x.builder.emit({ kind: 'pad', axis: axisOf(x, axis), before, after }, [x])
}

/** Rows of `x` along axis 0 by an integer tensor of any shape. */
export function gather(x: Tensor, indices: Tensor): Tensor {
  return x.builder.emit({ kind: 'gather' }, [x, indices])
}

/** Elements of `x` by integer tuples [.., r] into its first r axes. */
export function gatherNd(x: Tensor, indices: Tensor): Tensor {
  return x.builder.emit({ kind: 'gather_nd' }, [x, indices])
}

/** Zeros of `shape` plus `updates` at `indices` [.., r]. */
export function scatterAdd(indices: Tensor, updates: Tensor, shape: Shape): Tensor {
  return updates.builder.emit({ kind: 'scatter_add', shape }, [indices, updates])
}

/** Integer classes [.., 1] -> float32 [.., depth] with a 1 at each class. */
export function oneHot(x: Tensor, depth: number): Tensor {
  const classes = x.builder.emit({ kind: 'iota', size: depth }, [])
  return cast(equal(cast(x, 'int32'), classes), 'float32')
}

/** logits [.., C] and integer labels [.., 1] -> the loss of each sample [.., 1]. */
export function softmaxCrossEntropy(logits: Tensor, labels: Tensor): Tensor {
  return logits.builder.emit({ kind: 'softmax_cross_entropy' }, [logits, labels])
}

/** logits and labels (0 to 1) of one shape -> the loss of each element. */
export function sigmoidCrossEntropy(logits: Tensor, labels: Tensor): Tensor {
  return logits.builder.emit({ kind: 'sigmoid_cross_entropy' }, [logits, labels])
}

/** `axis` counted from the front, checked against the tensor. */
export function axisOf({ shape }: Tensor, axis: number): number {
  const positive = axis < 0 ? axis + shape.length : axis
  if (Number.isInteger(positive) && positive >= 0 && positive < shape.length) return positive
  throw new RangeError(
    `axis ${axis} does not exist in a tensor of ${shape.length} axes; use ${-shape.length} to ${shape.length - 1}`,
  )
}

function promote(a: Operand, b: Operand): [Tensor, Tensor] {
  if (typeof a !== 'number') return [a, typeof b === 'number' ? constant(a.builder, b, { dtype: a.dtype }) : b]
  if (typeof b !== 'number') return [constant(b.builder, a, { dtype: b.dtype }), b]
  throw new TypeError('at least one operand must be a tensor; compute with plain numbers yourself')
}
