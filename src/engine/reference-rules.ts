/** @file The fourth table: what each op means, in plain loops. The other engines are compared with this one. */
import type { Op, OpKind } from '../program/index.ts'
import { type Arr, broadcastDims, build, type Evaluation, each, offset, read, reduce } from './array.ts'

export type ReferenceRule<K extends OpKind> = (run: Evaluation, inputs: readonly Arr[], op: Op<K>) => Arr
export type ReferenceRules = { readonly [K in OpKind]: ReferenceRule<K> }

/** Elementwise with broadcasting. */
const map =
  (compute: (...values: number[]) => number) =>
  (run: Evaluation, inputs: readonly Arr[]): Arr =>
    build(run, broadcastDims(inputs), (at) => compute(...inputs.map((input) => read(input, at))))

const reduction =
  (fold: (values: readonly number[]) => number) =>
  (run: Evaluation, [x]: readonly Arr[], { axes, keepdims }: Op<'sum'> | Op<'mean'> | Op<'max'>): Arr => {
    const kept = reduce(run, x!, axes, fold)
    return keepdims ? kept : { dims: x!.dims.filter((_, i) => !axes.includes(i)), data: kept.data }
  }

const total = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))
const softplus = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))

export const REFERENCE_RULES: ReferenceRules = {
  constant: (run, _, { values, shape }) => {
    const out = run.zeros(shape)
    out.data.set(values)
    return out
  },
  iota: (run, _, { size }) => build(run, [size], ([i]) => i!),
  count: (run, _, { dims }) => build(run, [], () => dims.reduce<number>((n, dim) => n * run.size(dim), 1)),

  neg: map((x) => -x),
  exp: map(Math.exp),
  log: map(Math.log),
  sqrt: map(Math.sqrt),
  abs: map(Math.abs),
  square: map((x) => x * x),
  relu: map((x) => Math.max(x, 0)),
  sigmoid: map(sigmoid),
  tanh: map(Math.tanh),
  cast: (run, [x], { to }) =>
    map(to === 'bool' ? (v) => Number(v !== 0) : to.startsWith('int') ? Math.trunc : (v) => v)(run, [x!]),
  stop_gradient: (_, [x]) => x!,

  add: map((a, b) => a! + b!),
  sub: map((a, b) => a! - b!),
  mul: map((a, b) => a! * b!),
  div: map((a, b) => a! / b!),
  minimum: map(Math.min),
  maximum: map(Math.max),
  greater: map((a, b) => Number(a! > b!)),
  equal: map((a, b) => Number(a === b)),
  where: map((condition, a, b) => (condition ? a! : b!)),
  phase: map((training) => training!),

  gemm: (run, [a, b, bias], { transposeA, transposeB }) => {
    const left = (i: number, k: number) => read(a!, transposeA ? [k, i] : [i, k])
    const right = (k: number, j: number) => read(b!, transposeB ? [j, k] : [k, j])
    const [m, inner] = transposeA ? a!.dims.toReversed() : a!.dims
    const n = transposeB ? b!.dims[0]! : b!.dims[1]!
    return build(run, [m!, n], ([i, j]) => {
      let sum = bias ? bias.data[j!]! : 0
      for (let k = 0; k < inner!; k++) sum += left(i!, k) * right(k, j!)
      return sum
    })
  },
  matmul: (run, [a, b]) => {
    const batch = broadcastDims([a!, b!].map(({ dims, data }) => ({ dims: dims.slice(0, -2), data })))
    return build(run, [...batch, a!.dims.at(-2)!, b!.dims.at(-1)!], (at) => {
      const [lead, i, j] = [at.slice(0, -2), at.at(-2)!, at.at(-1)!]
      let sum = 0
      for (let k = 0; k < a!.dims.at(-1)!; k++) sum += read(a!, [...lead, i, k]) * read(b!, [...lead, k, j])
      return sum
    })
  },

  sum: reduction(total),
  mean: reduction((values) => total(values) / values.length),
  max: reduction((values) => Math.max(...values)),
  softmax: (run, [x], { axis }) => map((v, norm) => Math.exp(v! - norm!))(run, [x!, logSumExp(run, x!, axis)]),
  log_softmax: (run, [x], { axis }) => map((v, norm) => v! - norm!)(run, [x!, logSumExp(run, x!, axis)]),

  reshape: (run, [x], { shape }) => ({ dims: shape.map((dim) => run.size(dim)), data: x!.data }),
  expand: (run, [x], { shape }) =>
    build(
      run,
      shape.map((dim) => run.size(dim)),
      (at) => read(x!, at),
    ),
  transpose: (run, [x], { permutation }) =>
    build(
      run,
      permutation.map((axis) => x!.dims[axis]!),
      (at) =>
        read(
          x!,
          permutation.map((_, i) => at[permutation.indexOf(i)]!),
        ),
    ),
  concat: (run, inputs, { axis }) => {
    const dims = inputs[0]!.dims.with(axis, total(inputs.map((input) => input.dims[axis]!)))
    return build(run, dims, (at) => {
      let position = at[axis]!
      let piece = 0
      while (position >= inputs[piece]!.dims[axis]!) position -= inputs[piece++]!.dims[axis]!
      return read(inputs[piece]!, at.with(axis, position))
    })
  },
  slice: (run, [x], { axis, start, end }) => {
    const from = run.size(start)
    return build(run, x!.dims.with(axis, run.size(end) - from), (at) => read(x!, at.with(axis, at[axis]! + from)))
  },
  pad: (run, [x], { axis, before, after }) => {
    const size = x!.dims[axis]!
    const from = run.size(before)
    return build(run, x!.dims.with(axis, from + size + run.size(after)), (at) => {
      const position = at[axis]! - from
      return position < 0 || position >= size ? 0 : x!.data[offset(x!.dims, at.with(axis, position))]!
    })
  },

  gather: (run, [x, indices]) => {
    const depth = indices!.dims.length
    return build(run, [...indices!.dims, ...x!.dims.slice(1)], (at) =>
      read(x!, [read(indices!, at.slice(0, depth)), ...at.slice(depth)]),
    )
  },
  gather_nd: (run, [x, indices]) => {
    const lead = indices!.dims.slice(0, -1)
    return build(run, [...lead, ...x!.dims.slice(indices!.dims.at(-1))], (at) =>
      read(x!, [...tuple(indices!, at.slice(0, lead.length)), ...at.slice(lead.length)]),
    )
  },
  scatter_add: (run, [indices, updates], { shape }) => {
    const out = run.zeros(shape.map((dim) => run.size(dim)))
    const lead = indices!.dims.length - 1
    each(updates!, (value, at) => {
      out.data[offset(out.dims, [...tuple(indices!, at.slice(0, lead)), ...at.slice(lead)])]! += value
    })
    return out
  },

  softmax_cross_entropy: (run, [x, label]) => {
    const norm = logSumExp(run, x!, x!.dims.length - 1)
    return build(run, label!.dims, (at) => read(norm, at) - read(x!, at.with(-1, read(label!, at))))
  },
  sigmoid_cross_entropy: map((x, z) => softplus(x!) - x! * z!),
}

/** ln(sum(e^x)) along an axis, kept at size 1. */
function logSumExp(run: Evaluation, x: Arr, axis: number): Arr {
  return reduce(run, x, [axis], (values) => {
    const top = Math.max(...values)
    return top + Math.log(total(values.map((value) => Math.exp(value - top))))
  })
}

/** The index tuple at a coordinate of everything but the last axis. */
function tuple(indices: Arr, at: readonly number[]): number[] {
  return Array.from({ length: indices.dims.at(-1)! }, (_, i) => read(indices, [...at, i]))
}
