/**
 * @file The third table: each op as ONNX nodes. Only forms that the CPU and the WebGPU provider both run
 * (Greater + Cast + Mul, Softmax + Log, int32 index arithmetic; no Sum, Sign, OneHot or LogSoftmax).
 */

import { defined } from '../../base/util/index.ts'
import {
  type Dim,
  type Op,
  type Operands,
  type OpKind,
  type Shape,
  subDims,
  type TensorType,
} from '../program/index.ts'
import type { OnnxGraph } from './graph.ts'
import { dataType } from './messages.ts'
import { randomBits } from './random.ts'

/** A node to lower: names and types of its operands, its own type. */
export interface Lowered<K extends OpKind> {
  readonly op: Op<K>
  readonly inputs: Operands<K, string>
  readonly types: Operands<K, TensorType>
  readonly type: TensorType
}
/** Returns the name of the value that holds the result. */
export type LoweringRule<K extends OpKind> = (graph: OnnxGraph, node: Lowered<K>) => string
export type LoweringRules = { readonly [K in OpKind]: LoweringRule<K> }

/** Far beyond any size: a slice to the end. */
const TO_END = 2 ** 53 - 1

const named =
  (type: string) =>
  (graph: OnnxGraph, { inputs }: { readonly inputs: readonly string[] }): string =>
    graph.node(type, inputs)
const same = (_: OnnxGraph, { inputs }: { readonly inputs: readonly [string, ...string[]] }): string => inputs[0]
const reduction =
  (type: string) =>
  (graph: OnnxGraph, { op, inputs }: Lowered<'sum' | 'mean' | 'max' | 'min' | 'prod'>): string =>
    graph.node(type, [inputs[0], graph.ints(op.axes)], { keepdims: Number(op.keepdims) })

export const LOWERING_RULES: LoweringRules = {
  constant: (graph, { op }) => graph.constant(op.values, op.shape, op.dtype),
  iota: (graph, { op }) => graph.constant([...new Array(op.size).keys()], [op.size], 'int32'),
  random_bits: (graph, node) => randomBits(graph, node),
  count: (graph, { op }) => {
    const size = op.dims.map((dim) => graph.size(dim)).reduce((a, b) => graph.node('Mul', [a, b]))
    return graph.node('Squeeze', [graph.node('Cast', [size], { to: dataType('float32') })])
  },

  neg: named('Neg'),
  exp: named('Exp'),
  log: named('Log'),
  sqrt: named('Sqrt'),
  abs: named('Abs'),
  square: (graph, { inputs: [x] }) => graph.node('Mul', [x, x]),
  erf: named('Erf'),
  floor: named('Floor'),
  leaky_relu: (graph, { op, inputs }) => graph.node('LeakyRelu', inputs, { alpha: { float: op.slope } }),
  relu: named('Relu'),
  sigmoid: named('Sigmoid'),
  tanh: named('Tanh'),
  not: named('Not'),
  cast: (graph, { op, inputs }) => graph.node('Cast', inputs, { to: dataType(op.to) }),
  stop_gradient: same,

  add: named('Add'),
  sub: named('Sub'),
  mul: named('Mul'),
  div: named('Div'),
  pow: named('Pow'),
  minimum: named('Min'),
  maximum: named('Max'),
  greater: named('Greater'),
  equal: named('Equal'),
  and: named('And'),
  where: named('Where'),
  phase: same,

  gemm: (graph, { op, inputs }) => {
    const flags = { transA: op.transposeA ? 1 : undefined, transB: op.transposeB ? 1 : undefined }
    return graph.node('Gemm', inputs, defined(flags))
  },
  matmul: named('MatMul'),

  sum: reduction('ReduceSum'),
  mean: reduction('ReduceMean'),
  max: reduction('ReduceMax'),
  min: reduction('ReduceMin'),
  prod: reduction('ReduceProd'),
  softmax: (graph, { op, inputs }) => graph.node('Softmax', inputs, { axis: op.axis }),
  log_softmax: (graph, { op, inputs }) => logSoftmax(graph, inputs[0], op.axis),
  cumsum: (graph, { op, inputs }) =>
    graph.node('CumSum', [inputs[0], graph.scalar(op.axis, 'int64')], {
      exclusive: Number(op.exclusive),
      reverse: Number(op.reverse),
    }),
  top_k: (graph, { op, inputs }) => graph.node('TopK', [inputs[0], graph.ints([op.k])], { axis: op.axis }, 1),

  reshape: (graph, { op, inputs, types }) =>
    graph.node('Reshape', [inputs[0], reshapeTarget(graph, types[0].shape, op.shape)]),
  expand: (graph, { op, inputs, types }) => expanded(graph, inputs[0], types[0].shape, op.shape),
  transpose: (graph, { op, inputs }) => graph.node('Transpose', inputs, { perm: op.permutation }),
  concat: (graph, { op, inputs }) => graph.node('Concat', inputs, { axis: op.axis }),
  flip: (graph, { op, inputs }) =>
    graph.node('Slice', [inputs[0], graph.ints([-1]), graph.ints([-TO_END]), graph.ints([op.axis]), graph.ints([-1])]),
  slice: (graph, { op, inputs, types }) => {
    const size = types[0].shape[op.axis]!
    const bounds = [bound(graph, op.start, size), bound(graph, op.end, size)]
    return graph.node('Slice', [inputs[0], ...bounds, graph.ints([op.axis])])
  },
  pad: (graph, { op, inputs, type }) =>
    graph.node('Pad', [
      inputs[0],
      graph.shape([op.before, op.after]),
      graph.scalar(0, type.dtype),
      graph.ints([op.axis]),
    ]),

  gather: named('Gather'),
  gather_nd: (graph, { inputs: [x, indices], types }) => graph.node('GatherND', [x, int64(graph, indices, types[1])]),
  scatter_add: (graph, { op, inputs: [indices, updates], types, type }) => {
    const zeros = expanded(graph, graph.scalar(0, type.dtype), [], op.shape)
    return graph.node('ScatterND', [zeros, int64(graph, indices, types[0]), updates], { reduction: 'add' })
  },
  take_along: (graph, { op, inputs: [x, indices], types }) =>
    graph.node('GatherElements', [x, int64(graph, indices, types[1])], { axis: op.axis }),
  scatter_along: (graph, { op, inputs: [indices, updates], types, type }) => {
    const zeros = expanded(graph, graph.scalar(0, type.dtype), [], type.shape)
    return graph.node('ScatterElements', [zeros, int64(graph, indices, types[0]), updates], {
      axis: op.axis,
      reduction: 'add',
    })
  },

  // -sum(hot * log_softmax(x)) / sum(hot): finite for any logits, unlike Log(Softmax(x)); 0 / 0 for a label beyond the classes
  softmax_cross_entropy: (graph, { inputs: [x, label], types: [logits] }) => {
    const axis = logits.shape.length - 1
    const classes = Number(logits.shape[axis])
    const iota = LOWERING_RULES.iota(graph, {
      op: { kind: 'iota', size: classes },
      inputs: [],
      types: [],
      type: logits,
    })
    const index = graph.node('Cast', [label], { to: dataType('int32') })
    const hot = graph.node('Cast', [graph.node('Equal', [index, iota])], { to: dataType(logits.dtype) })
    const total = (values: string) => graph.node('ReduceSum', [values, graph.ints([axis])], { keepdims: 1 })
    const picked = total(graph.node('Mul', [logSoftmax(graph, x, axis), hot]))
    return graph.node('Neg', [graph.node('Div', [picked, total(hot)])])
  },
  // max(x, 0) - x z + ln(1 + e^-|x|)
  sigmoid_cross_entropy: (graph, { inputs: [x, z], type }) => {
    const linear = graph.node('Sub', [graph.node('Relu', [x]), graph.node('Mul', [x, z])])
    const decay = graph.node('Exp', [graph.node('Neg', [graph.node('Abs', [x])])])
    return graph.node('Add', [linear, graph.node('Log', [graph.node('Add', [decay, graph.scalar(1, type.dtype)])])])
  },
}

/** x - max - ln(sum(e^(x - max))) */
function logSoftmax(graph: OnnxGraph, x: string, axis: number): string {
  const axes = graph.ints([axis])
  const shifted = graph.node('Sub', [x, graph.node('ReduceMax', [x, axes], { keepdims: 1 })])
  const total = graph.node('ReduceSum', [graph.node('Exp', [shifted]), axes], { keepdims: 1 })
  return graph.node('Sub', [shifted, graph.node('Log', [total])])
}

/** Expand broadcasts both ways, so 1 stands for every dimension that is there already: few shapes are read at run time. */
function expanded(graph: OnnxGraph, x: string, from: Shape, to: Shape): string {
  const offset = to.length - from.length
  const target = to.map((dim, i) => (from[i - offset] === dim ? 1 : dim))
  return target.every((dim) => dim === 1) && offset === 0 ? x : graph.node('Expand', [x, graph.shape(target)])
}

/** 0 copies a dimension in place and -1 computes one; only what is left is read at run time. */
function reshapeTarget(graph: OnnxGraph, from: Shape, to: Shape): string {
  const copied = to.map((dim, i): Dim => (typeof dim === 'string' && from[i] === dim ? 0 : dim))
  const unknown = copied.filter((dim) => typeof dim === 'string')
  return unknown.length === 1
    ? graph.shape(copied.with(copied.indexOf(unknown[0]!), -1))
    : graph.shape(unknown.length === 0 ? copied : to)
}

/** A bound of a slice: counted from the end where that is a number and the size is not. */
function bound(graph: OnnxGraph, position: Dim, size: Dim): string {
  if (position === size) return graph.ints([TO_END])
  const fromEnd = subDims(position, size)
  return typeof position === 'string' && typeof fromEnd === 'number' ? graph.ints([fromEnd]) : graph.size(position)
}

function int64(graph: OnnxGraph, indices: string, { dtype }: TensorType): string {
  return dtype === 'int64' ? indices : graph.node('Cast', [indices], { to: dataType('int64') })
}
