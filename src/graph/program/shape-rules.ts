/** @file The first table: the shape and dtype of each op's result, from its operands and attributes. */
import { addDims, formatShape, sameShape, sizeOf, subDims } from './dim.ts'
import type { Op, Operands, OpKind } from './op.ts'
import type { TensorType } from './program.ts'
import {
  broadcast,
  concatType,
  elementwiseType,
  gemmType,
  innerMismatch,
  reducedType,
  replaceDim,
  requireAlong,
  requireBool,
  requireFloat,
  requireInteger,
  ShapeError,
  sameDType,
} from './shape-checks.ts'

export type ShapeRule<K extends OpKind> = (inputs: Operands<K, TensorType>, op: Op<K>) => TensorType
export type ShapeRules = { readonly [K in OpKind]: ShapeRule<K> }

const same = ([x]: readonly [TensorType]): TensorType => ({ shape: x.shape, dtype: x.dtype })
const float = ([x]: readonly [TensorType]) => same([requireFloat(x)])

export const SHAPE_RULES: ShapeRules = {
  constant: (_, { shape, dtype }) => ({ shape, dtype }),
  iota: (_, { size }) => ({ shape: [size], dtype: 'int32' }),
  random_bits: (_, { shape }) => ({ shape, dtype: 'int32' }),
  count: () => ({ shape: [], dtype: 'float32' }),

  neg: same,
  exp: float,
  log: float,
  sqrt: float,
  abs: same,
  square: same,
  erf: float,
  floor: float,
  relu: float,
  leaky_relu: float,
  sigmoid: float,
  tanh: float,
  cast: ([x], { to }) => ({ shape: x.shape, dtype: to }),
  stop_gradient: same,
  not: (inputs) => requireBool(inputs),

  add: (inputs) => elementwiseType(inputs),
  sub: (inputs) => elementwiseType(inputs),
  mul: (inputs) => elementwiseType(inputs),
  div: (inputs) => elementwiseType(inputs),
  pow: ([a, b]) => elementwiseType([requireFloat(a), requireFloat(b)]),
  minimum: (inputs) => elementwiseType(inputs),
  maximum: (inputs) => elementwiseType(inputs),
  greater: (inputs) => ({ ...elementwiseType(inputs), dtype: 'bool' }),
  equal: (inputs) => ({ ...elementwiseType(inputs), dtype: 'bool' }),
  and: (inputs) => requireBool(inputs),
  where: ([condition, a, b]) => {
    if (condition.dtype !== 'bool')
      throw new ShapeError('the condition is not bool', "compare first, or cast(x, 'bool')")
    const { shape, dtype } = elementwiseType([a, b])
    return { shape: broadcast(condition.shape, shape), dtype }
  },
  phase: ([training, inference]) => {
    if (!sameShape(training.shape, inference.shape))
      throw new ShapeError('the two phases differ in shape', 'expand one to the shape of the other')
    return elementwiseType([training, inference])
  },

  gemm: (inputs, op) => gemmType(inputs, op),
  matmul: ([a, b]) => {
    if (a.shape.length < 2 || b.shape.length < 2)
      throw new ShapeError('both operands need two axes or more', 'unsqueeze the vector')
    const inner = a.shape.at(-1)!
    if (inner !== b.shape.at(-2)) throw innerMismatch(inner, b.shape.at(-2)!)
    const batch = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2))
    return { shape: [...batch, a.shape.at(-2)!, b.shape.at(-1)!], dtype: sameDType([a, b]) }
  },

  sum: ([x], op) => reducedType(x, op),
  mean: ([x], op) => reducedType(requireFloat(x), op),
  max: ([x], op) => reducedType(x, op),
  min: ([x], op) => reducedType(x, op),
  prod: ([x], op) => reducedType(requireFloat(x), op),
  softmax: float,
  log_softmax: float,
  cumsum: same,
  top_k: ([x], { axis, k }) => {
    const size = x.shape[axis]!
    if (typeof size === 'number' && k > size)
      throw new ShapeError(`axis ${axis} has ${size} elements, fewer than ${k}`, 'ask for fewer')
    return { shape: x.shape.with(axis, k), dtype: 'int64' }
  },

  reshape: ([x], { shape }) => {
    if (sizeOf(x.shape) !== sizeOf(shape)) {
      throw new ShapeError(
        `${formatShape(x.shape)} has ${sizeOf(x.shape)} elements but ${formatShape(shape)} has ${sizeOf(shape)}`,
        'use -1 for one dimension to have it computed',
      )
    }
    return { shape, dtype: x.dtype }
  },
  expand: ([x], { shape }) => {
    if (!sameShape(broadcast(x.shape, shape), shape)) {
      throw new ShapeError(
        `${formatShape(x.shape)} does not broadcast to ${formatShape(shape)}`,
        'only dimensions of size 1 expand; unsqueeze or reshape first',
      )
    }
    return { shape, dtype: x.dtype }
  },
  transpose: ([x], { permutation }) => {
    if (permutation.length !== x.shape.length || new Set(permutation).size !== permutation.length) {
      throw new ShapeError(`[${permutation}] is not a permutation of ${x.shape.length} axes`, 'name each axis once')
    }
    return { shape: permutation.map((axis) => x.shape[axis]!), dtype: x.dtype }
  },
  concat: (inputs, { axis }) => concatType(inputs, axis),
  flip: same,
  slice: ([x], { axis, start, end }) => replaceDim(x, axis, subDims(end, start)),
  pad: ([x], { axis, before, after }) => replaceDim(x, axis, addDims(addDims(before, x.shape[axis]!), after)),

  gather: ([x, indices]) => {
    requireInteger(indices)
    if (x.shape.length === 0)
      throw new ShapeError('there is nothing to gather from in a scalar', 'pass a tensor with one axis or more')
    return { shape: [...indices.shape, ...x.shape.slice(1)], dtype: x.dtype }
  },
  scatter_add: ([indices, updates], { shape }) => {
    requireInteger(indices)
    const depth = indices.shape.at(-1)
    const expected = typeof depth === 'number' ? [...indices.shape.slice(0, -1), ...shape.slice(depth)] : []
    if (!sameShape(expected, updates.shape))
      throw new ShapeError(`updates must be ${formatShape(expected)}`, 'give one update per index')
    return { shape, dtype: updates.dtype }
  },
  gather_nd: ([x, indices]) => {
    const depth = requireInteger(indices).shape.at(-1)
    if (typeof depth !== 'number' || depth > x.shape.length) {
      throw new ShapeError(`the last axis of the indices is ${depth}`, `it must be a number up to ${x.shape.length}`)
    }
    return { shape: [...indices.shape.slice(0, -1), ...x.shape.slice(depth)], dtype: x.dtype }
  },

  take_along: ([x, indices], { axis }) => {
    requireAlong(x.shape, indices, axis)
    return { shape: indices.shape, dtype: x.dtype }
  },
  scatter_along: ([indices, updates], { axis, size }) => {
    if (!sameShape(indices.shape, updates.shape))
      throw new ShapeError('indices and updates differ in shape', 'give one update per index')
    requireAlong(updates.shape, indices, axis)
    return { shape: updates.shape.with(axis, size), dtype: updates.dtype }
  },

  softmax_cross_entropy: ([logits, labels]) => {
    requireFloat(logits)
    requireInteger(labels)
    if (typeof logits.shape.at(-1) !== 'number') {
      throw new ShapeError('the number of classes is not known', 'let the last dimension of the logits be a number')
    }
    const shape = [...logits.shape.slice(0, -1), 1]
    if (!sameShape(labels.shape, shape)) {
      throw new ShapeError(`labels must be ${formatShape(shape)}`, 'give one integer class per sample')
    }
    return { shape, dtype: logits.dtype }
  },
  sigmoid_cross_entropy: ([logits, labels]) => {
    if (!sameShape(logits.shape, labels.shape))
      throw new ShapeError('logits and labels differ in shape', 'reshape the labels to the shape of the logits')
    return { shape: requireFloat(logits).shape, dtype: sameDType([logits, labels]) }
  },
}
