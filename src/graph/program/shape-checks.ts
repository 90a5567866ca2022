/** @file What shape rules are made of: broadcasting, requirements on operands, and errors that say what to change. */
import { UserError } from '../../base/util/index.ts'
import { addDims, type Dim, divDims, formatShape, type Shape, sameShape, sizeOf } from './dim.ts'
import type { DType, Op, Operands } from './op.ts'
import type { TensorType } from './program.ts'

type OneOrMore = readonly [TensorType, ...TensorType[]]

/** What is wrong with an op's operands and what to change; the builder adds which op and which operands. */
export class ShapeError extends Error {
  readonly hint: string
  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

/** A ShapeError as what the user reads: which op on which operands, what is wrong, what to change. Others pass as they are. */
export function explain(application: string, error: unknown): unknown {
  if (!(error instanceof ShapeError)) return error
  const hint = `${error.hint[0]!.toUpperCase()}${error.hint.slice(1)}.`
  return new UserError(`${application}: ${error.message}.`, { code: 'PROGRAM_SHAPE', hint, cause: error })
}

/** The shape two operands broadcast to, numpy's way; a symbol matches itself and 1. */
export function broadcast(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, i): Dim => {
    const left = a[a.length - rank + i] ?? 1
    const right = b[b.length - rank + i] ?? 1
    if (left === right || right === 1) return left
    if (left === 1) return right
    throw new ShapeError(
      `dimensions ${left} and ${right} (axis ${i}) do not broadcast`,
      'make them equal, or make one of them 1 with reshape or unsqueeze',
    )
  })
}

export function elementwiseType(inputs: OneOrMore): TensorType {
  return { shape: inputs.map(({ shape }) => shape).reduce(broadcast), dtype: sameDType(inputs) }
}

export function sameDType(inputs: OneOrMore): DType {
  const dtype = inputs[0].dtype
  const other = inputs.find((input) => input.dtype !== dtype)
  if (other) throw new ShapeError(`dtypes ${dtype} and ${other.dtype} differ`, `cast one operand: cast(x, '${dtype}')`)
  return dtype
}

export function requireFloat(x: TensorType): TensorType {
  if (x.dtype !== 'float32' && x.dtype !== 'float64')
    throw new ShapeError(`${x.dtype} is not a float`, "use cast(x, 'float32') first")
  return x
}

export function requireInteger(x: TensorType): TensorType {
  if (x.dtype !== 'int64' && x.dtype !== 'int32')
    throw new ShapeError(`${x.dtype} cannot index`, "use cast(x, 'int64') first")
  return x
}

export function requireBool(inputs: OneOrMore): TensorType {
  const other = inputs.find(({ dtype }) => dtype !== 'bool')
  if (other) throw new ShapeError(`${other.dtype} is not bool`, "compare first, or cast(x, 'bool')")
  return elementwiseType(inputs)
}

/** Indices along an axis have the operand's shape everywhere else. */
export function requireAlong(shape: Shape, indices: TensorType, axis: number): void {
  requireInteger(indices)
  if (sameShape(shape.toSpliced(axis, 1), indices.shape.toSpliced(axis, 1)) && shape.length === indices.shape.length)
    return
  throw new ShapeError(
    `the indices differ in an axis other than ${axis}`,
    'expand them to the shape of the operand there',
  )
}

export function gemmType([a, b, bias]: Operands<'gemm', TensorType>, op: Op<'gemm'>): TensorType {
  if (a.shape.length !== 2 || b.shape.length !== 2)
    throw new ShapeError('both operands need exactly two axes', 'use matmul for more axes, or reshape')
  const [m, k] = op.transposeA ? a.shape.toReversed() : a.shape
  const [inner, n] = op.transposeB ? b.shape.toReversed() : b.shape
  if (k !== inner) throw innerMismatch(k!, inner!)
  if (bias && !sameShape(bias.shape, [n!])) throw new ShapeError(`the bias must be [${n}]`, 'give one bias per column')
  return { shape: [m!, n!], dtype: sameDType(bias ? [a, b, bias] : [a, b]) }
}

export function innerMismatch(k: Dim, inner: Dim): ShapeError {
  return new ShapeError(
    `inner dimensions ${k} and ${inner} differ`,
    `give the second operand ${k} rows, or transpose one of them`,
  )
}

export function reducedType(
  x: TensorType,
  { axes, keepdims }: { readonly axes: readonly number[]; readonly keepdims: boolean },
): TensorType {
  const shape = x.shape.flatMap((dim, i) => (!axes.includes(i) ? [dim] : keepdims ? [1] : []))
  return { shape, dtype: x.dtype }
}

export function concatType(inputs: OneOrMore, axis: number): TensorType {
  const first = inputs[0].shape
  const wrong = inputs.find(
    ({ shape }) => shape.length !== first.length || shape.some((dim, i) => i !== axis && dim !== first[i]),
  )
  if (wrong)
    throw new ShapeError(
      `${formatShape(first)} and ${formatShape(wrong.shape)} differ in an axis other than ${axis}`,
      'make them equal there, or concatenate along that axis',
    )
  const shape = first.with(axis, inputs.map((input) => input.shape[axis]!).reduce(addDims))
  return { shape, dtype: sameDType(inputs) }
}

export function replaceDim(x: TensorType, axis: number, dim: Dim): TensorType {
  if (typeof dim === 'number' && dim < 0)
    throw new ShapeError(`axis ${axis} would get ${dim} elements`, 'let start come before end')
  return { shape: x.shape.with(axis, dim), dtype: x.dtype }
}

/** The shape of a reshape with one -1 filled in. */
export function inferReshape(from: Shape, to: Shape): Shape {
  const unknown = to.indexOf(-1)
  if (unknown < 0) return to
  const dim = divDims(sizeOf(from), sizeOf(to.toSpliced(unknown, 1)))
  if (dim === undefined)
    throw new ShapeError(
      `${formatShape(from)} does not divide into ${formatShape(to)}`,
      'choose dimensions whose product divides the element count',
    )
  return to.with(unknown, dim)
}
