/** @file Ops that move elements without changing them, as functions. */
import { UserError } from '../util/index.ts'
import type { Tensor } from './builder.ts'
import { type Dim, formatShape, mulDims, type Shape, sameShape, subDims } from './dim.ts'
import { axisOf } from './operand.ts'
import { explain, inferReshape } from './shape-checks.ts'

/** Another shape of as many elements; one dimension may be -1, to be computed. */
export function reshape(x: Tensor, shape: Shape): Tensor {
  const full = resolveShape(x, shape)
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

/** Copies along axes of size 1 (and new leading ones) to a shape. */
export function expand(x: Tensor, shape: Shape): Tensor {
  return sameShape(x.shape, shape) ? x : x.builder.emit({ kind: 'expand', shape }, [x])
}

/** Repeats the whole tensor `times[i]` times along axis i. */
export function tile(x: Tensor, times: readonly Dim[]): Tensor {
  const interleave = (lead: Shape) => x.shape.flatMap((dim, i) => [lead[i] ?? 1, dim])
  const repeated = expand(reshape(x, interleave([])), interleave(times))
  return reshape(
    repeated,
    x.shape.map((dim, i) => mulDims(dim, times[i] ?? 1)),
  )
}

/** Reorders axes; without a permutation swaps the last two. */
export function transpose(x: Tensor, permutation?: readonly number[]): Tensor {
  const last = x.shape.length - 1
  const order = permutation ?? [...x.shape.keys()].with(last, last - 1).with(last - 1, last)
  return x.builder.emit({ kind: 'transpose', permutation: order.map((axis) => axisOf(x, axis)) }, [x])
}

export function concat(tensors: readonly Tensor[], axis: number): Tensor {
  const first = firstOf('concat', tensors)
  return tensors.length === 1 ? first : first.builder.emit({ kind: 'concat', axis: axisOf(first, axis) }, tensors)
}

/** Tensors of one shape side by side along a new axis. */
export function stack(tensors: readonly Tensor[], axis: number): Tensor {
  firstOf('stack', tensors)
  return concat(
    tensors.map((tensor) => unsqueeze(tensor, axis)),
    axis,
  )
}

/** Elements [start, end) of an axis; negative numbers count from its end. */
export function slice(x: Tensor, axis: number, start: Dim, end?: Dim): Tensor {
  const at = axisOf(x, axis)
  const size = x.shape[at]!
  const fromEnd = (dim: Dim): Dim => (typeof dim === 'number' && dim < 0 ? subDims(size, -dim) : dim)
  const [from, to] = [fromEnd(start), fromEnd(end ?? size)]
  return from === 0 && to === size ? x : x.builder.emit({ kind: 'slice', axis: at, start: from, end: to }, [x])
}

/** Pieces of the given sizes along an axis; a number asks for that many equal ones. */
export function split(x: Tensor, pieces: number | readonly number[], axis: number): Tensor[] {
  const size = x.shape[axisOf(x, axis)]!
  const sizes = typeof pieces === 'number' ? new Array<number>(pieces).fill(Number(size) / pieces) : pieces
  if (sizes.reduce((a, b) => a + b, 0) !== size || sizes.some((n) => !Number.isInteger(n))) {
    throw new UserError(
      `split: ${formatShape(x.shape)} does not divide into ${sizes.join(' + ')} along axis ${axis}.`,
      { code: 'PROGRAM_SHAPE', hint: 'Sizes must be whole and add up to the axis.' },
    )
  }
  let start = 0
  return sizes.map((length) => {
    start += length
    return slice(x, axis, start - length, start)
  })
}

/** Zeros before and after along an axis. */
export function pad(x: Tensor, axis: number, before: Dim, after: Dim): Tensor {
  return before === 0 && after === 0 ? x : x.builder.emit({ kind: 'pad', axis: axisOf(x, axis), before, after }, [x])
}

/** The elements of an axis in reverse order. */
export function flip(x: Tensor, axis: number): Tensor {
  return x.builder.emit({ kind: 'flip', axis: axisOf(x, axis) }, [x])
}

function resolveShape(x: Tensor, shape: Shape): Shape {
  try {
    return inferReshape(x.shape, shape)
  } catch (error) {
    throw explain('reshape', error)
  }
}

function firstOf(name: string, tensors: readonly Tensor[]): Tensor {
  const [first] = tensors
  if (first) return first
  throw new UserError(`${name} was given no tensors.`, { code: 'PROGRAM_OPERAND', hint: 'Pass at least one.' })
}
