/** @file Ops by position, random draws and the fused losses, as functions. */
import type { Builder, Tensor } from './builder.ts'
import type { Dim, Shape } from './dim.ts'
import { add, cast, equal, mul } from './elementwise.ts'
import { transpose } from './layout.ts'
import { axisOf, iota } from './operand.ts'

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

/** Random int32, the same for the same (seed, stream, position) on every engine. */
export function randomBits(builder: Builder, shape: Shape, stream: string): Tensor {
  return builder.emit({ kind: 'random_bits', shape, stream: builder.path(stream) }, [builder.seed()])
}

/** Uniform in [0, 1] with 24 bits. */
export function randomUniform(builder: Builder, shape: Shape, stream: string): Tensor {
  return add(mul(cast(randomBits(builder, shape, stream), 'float32'), 2 ** -32), 0.5)
}

/** logits [.., C] and integer labels [.., 1] -> the loss of each sample [.., 1]. */
export function softmaxCrossEntropy(logits: Tensor, labels: Tensor): Tensor {
  return logits.builder.emit({ kind: 'softmax_cross_entropy' }, [logits, labels])
}

/** logits and labels (0 to 1) of one shape -> the loss of each element. */
export function sigmoidCrossEntropy(logits: Tensor, labels: Tensor): Tensor {
  return logits.builder.emit({ kind: 'sigmoid_cross_entropy' }, [logits, labels])
}
