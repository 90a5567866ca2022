/** @file Ops that move elements without changing them, as functions. */
import { UserError } from '../../base/util/index.ts'
import type { Tensor } from './builder.ts'
import { type Dim, formatShape, mulDims, type Shape, sameShape, subDims } from './dim.ts'
import { cast, equal } from './elementwise.ts'
import { axisOf, iota, tensorOf } from './operand.ts'
import { explain, inferReshape } from './shape-checks.ts'

/** Another shape of as many elements; one dimension may be -1, to be computed. */
export function reshape(x: Tensor, shape: Shape): Tensor {
  const full = resolveShape(tensorOf(x, 'reshape'), shape)
  return sameShape(full, x.shape) ? x : x.builder.emit({ kind: 'reshape', shape: full }, [x])
}

/** Adds an axis of size 1 that becomes axis `axis`. */
export function unsqueeze(x: Tensor, axis: number): Tensor {
  return reshape(x, x.shape.toSpliced(axis < 0 ? axis + x.shape.length + 1 : axis, 0, 1))
}

/** Removes axes of size 1. */
export function squeeze(x: Tensor, axes: number | readonly number[]): Tensor {
  const drop = [axes].flat().map((axis) => axisOf(x, axis))
  const kept = x.shape.filter((_, i) => !drop.includes(i))
  return reshape(x, kept)
}

/** Copies along axes of size 1 (and new leading ones) to a shape. */
export function expand(x: Tensor, shape: Shape): Tensor {
  return sameShape(x.shape, shape) ? x : x.builder.emit({ kind: 'expand', shape }, [x])
}

/** Repeats the whole tensor `times[i]` times along axis i. */
export function tile(x: Tensor, times: readonly Dim[]): Tensor {
  const interleave = (lead: Shape) => x.shape.flatMap((dim, i) => [lead[i] ?? 1, dim])
  const repeated = expand(reshape(x, interleave([])), interleave(times))
  const shape = x.shape.map((dim, i) => mulDims(dim, times[i] ?? 1))
  return reshape(repeated, shape)
}

/** Reorders axes; without a permutation swaps the last two. */
export function transpose(x: Tensor, permutation?: readonly number[]): Tensor {
  const last = x.shape.length - 1
  const order = permutation ?? [...x.shape.keys()].with(last, last - 1).with(last - 1, last)
  return x.builder.emit({ kind: 'transpose', permutation: order.map((axis) => axisOf(x, axis)) }, [x])
}

/**
 * Tensors one after the other along an axis.
 *
 * @example concat([embedded, dense], 1) // [B, dims of both]
 */
export function concat(tensors: readonly Tensor[], axis: number): Tensor {
  const first = firstOf('concat', tensors)
  return tensors.length === 1 ? first : first.builder.emit({ kind: 'concat', axis: axisOf(first, axis) }, tensors)
}

/** Tensors of one shape side by side along a new axis. */
export function stack(tensors: readonly Tensor[], axis: number): Tensor {
  firstOf('stack', tensors)
  const wide = tensors.map((tensor) => unsqueeze(tensor, axis))
  return concat(wide, axis)
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
  for (const tensor of tensors) tensorOf(tensor, name)
  if (first) return first
  throw new UserError(`${name} was given no tensors.`, { code: 'PROGRAM_OPERAND', hint: 'Pass at least one.' })
}

/** Elements of `x` along an axis by an integer tensor of any shape, whose axes take that axis's place. */
export function gather(x: Tensor, indices: Tensor, axis = 0): Tensor {
  const at = axisOf(x, axis)
  if (at === 0) return x.builder.emit({ kind: 'gather' }, [x, indices])
  const axes = [...x.shape.keys()]
  const rows = gather(transpose(x, [at, ...axes.toSpliced(at, 1)]), indices) // [indices.., x without the axis..]
  const depth = indices.shape.length
  const rest = axes.slice(1).map((_, i) => depth + i)
  return transpose(rows, [...rest.slice(0, at), ...indices.shape.keys(), ...rest.slice(at)])
}

/** Elements of `x` by integer tuples [.., r] into its first r axes. */
export function gatherNd(x: Tensor, indices: Tensor): Tensor {
  return x.builder.emit({ kind: 'gather_nd' }, [x, indices])
}

/** Zeros of `shape` plus `updates` at `indices` [.., r]. */
export function scatterAdd(indices: Tensor, updates: Tensor, shape: Shape): Tensor {
  return updates.builder.emit({ kind: 'scatter_add', shape }, [indices, updates])
}

/** Elements by position along one axis; indices have x's shape in every other axis. */
export function takeAlong(x: Tensor, indices: Tensor, axis: number): Tensor {
  return x.builder.emit({ kind: 'take_along', axis: axisOf(x, axis) }, [x, indices])
}

/** Zeros with `size` elements along the axis plus `updates` at positions along it. */
export function scatterAlong(indices: Tensor, updates: Tensor, axis: number, size: Dim): Tensor {
  return updates.builder.emit({ kind: 'scatter_along', axis: axisOf(updates, axis), size }, [indices, updates])
}

/** The k largest values along an axis, largest first, and their positions (int64). */
export function topK(x: Tensor, k: number, axis = -1): { readonly values: Tensor; readonly indices: Tensor } {
  const indices = x.builder.emit({ kind: 'top_k', axis: axisOf(x, axis), k }, [x])
  return { values: takeAlong(x, indices, axis), indices }
}

/** Integer classes [.., 1] -> float32 [.., depth] with a 1 at each class. */
export function oneHot(x: Tensor, depth: number): Tensor {
  return cast(equal(cast(x, 'int32'), iota(x.builder, depth)), 'float32')
}
