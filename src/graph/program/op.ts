/**
 * @file The op union: every kind with its attributes. An op is one row in each of four tables mapped over this union:
 * shape (shape-rules.ts), gradient (autodiff/), ONNX form (onnx/) and reference evaluation (engine/).
 * A missing row is a compile error.
 */
import type { Dim, Shape } from './dim.ts'

export const DTYPES = ['float32', 'float64', 'int64', 'int32', 'bool'] as const
/** What an element of a tensor is. */
export type DType = (typeof DTYPES)[number]

type None = Readonly<Record<never, never>>
interface Reduction {
  readonly axes: readonly number[]
  readonly keepdims: boolean
}
interface Axis {
  readonly axis: number
}

/** Attributes by kind. Axes are normalised (never negative) before they get here. */
export interface OpAttributes {
  // sources
  constant: { readonly values: readonly number[]; readonly shape: readonly number[]; readonly dtype: DType }
  /** int32 0, 1, .. size - 1. */
  iota: { readonly size: number }
  /** Random int32 from (seed, stream, position): the operand is the step's seed, the stream names the draw. */
  random_bits: { readonly shape: Shape; readonly stream: string }
  /** The number of elements of a shape, as a float32 scalar known at run time. */
  count: { readonly dims: Shape }

  // elementwise, one operand
  neg: None
  exp: None
  log: None
  sqrt: None
  abs: None
  square: None
  erf: None
  floor: None
  relu: None
  leaky_relu: { readonly slope: number }
  sigmoid: None
  tanh: None
  not: None
  cast: { readonly to: DType }
  /** The operand; no gradient passes. */
  stop_gradient: None

  // elementwise with broadcasting
  add: None
  sub: None
  mul: None
  div: None
  pow: None
  minimum: None
  maximum: None
  greater: None
  equal: None
  and: None
  where: None
  /** The first operand while training, the second at inference (dropout, batch norm); backward() and inference() resolve it. */
  phase: None

  // linear algebra
  /** A[m,k] B[k,n] (+ bias[n]), each of A and B optionally stored transposed. */
  gemm: { readonly transposeA: boolean; readonly transposeB: boolean }
  /** Batched product of the two last axes, the others broadcast. */
  matmul: None

  // along axes
  sum: Reduction
  mean: Reduction
  max: Reduction
  min: Reduction
  prod: Reduction
  softmax: Axis
  log_softmax: Axis
  /** Running sums; `exclusive` leaves an element's own value out, `reverse` runs from the end. */
  cumsum: { readonly axis: number; readonly exclusive: boolean; readonly reverse: boolean }
  /** Positions (int64) of the k largest along an axis, largest first. */
  top_k: { readonly axis: number; readonly k: number }

  // layout
  reshape: { readonly shape: Shape }
  expand: { readonly shape: Shape }
  transpose: { readonly permutation: readonly number[] }
  concat: Axis
  flip: Axis
  slice: { readonly axis: number; readonly start: Dim; readonly end: Dim }
  pad: { readonly axis: number; readonly before: Dim; readonly after: Dim }

  // indexing
  /** Rows of the first operand (axis 0) by an integer tensor of any shape. */
  gather: None
  /** Zeros of `shape`, plus updates at indices [.., r] into the first r axes; the gradient of every gather. */
  scatter_add: { readonly shape: Shape }
  /** Elements of the first operand by integer tuples [.., r] into its first r axes. */
  gather_nd: None
  /** Elements by position along one axis: y[.., i, ..] = x[.., indices[.., i, ..], ..]. */
  take_along: Axis
  /** Zeros with `size` elements along the axis, plus updates at positions along it; the gradient of take_along. */
  scatter_along: { readonly axis: number; readonly size: Dim }

  // losses, per sample
  /** logits [.., C], integer labels [.., 1] -> [.., 1]; NaN for a label outside 0 .. C - 1, so that it is noticed. */
  softmax_cross_entropy: None
  /** logits and labels (0..1) of one shape -> the same shape. */
  sigmoid_cross_entropy: None
}

export type OpKind = keyof OpAttributes
export type Op<K extends OpKind = OpKind> = { [P in K]: { readonly kind: P } & OpAttributes[P] }[K]

type TwoOperands =
  | ('add' | 'sub' | 'mul' | 'div' | 'pow' | 'minimum' | 'maximum' | 'greater' | 'equal' | 'and' | 'phase' | 'matmul')
  | ('gather' | 'scatter_add' | 'gather_nd' | 'take_along' | 'scatter_along')
  | ('softmax_cross_entropy' | 'sigmoid_cross_entropy')

/** The operands of an op: tensors, or what stands for them in a table of rules (their types, names or arrays). */
export type Operands<K extends OpKind, T> = K extends 'constant' | 'iota' | 'count'
  ? readonly []
  : K extends TwoOperands
    ? readonly [T, T]
    : K extends 'where'
      ? readonly [T, T, T]
      : K extends 'gemm'
        ? readonly [a: T, b: T, ...bias: T[]]
        : K extends 'concat'
          ? readonly [T, ...T[]]
          : readonly [T]
