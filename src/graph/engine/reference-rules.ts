/** @file The fourth table: what each op means, in plain loops. The other engines are compared with this one. */
import { elementBits, type Op, type Operands, type OpKind, rowWords, streamWords } from '../program/index.ts'
import { broadcastDims, build, type DenseArray, type Evaluation, each, offset, read, reduce } from './array.ts'

export type ReferenceRule<K extends OpKind> = (
  run: Evaluation,
  inputs: Operands<K, DenseArray>,
  op: Op<K>,
) => DenseArray
export type ReferenceRules = { readonly [K in OpKind]: ReferenceRule<K> }

/** Elementwise with broadcasting. */
const map =
  (compute: (...values: number[]) => number) =>
  (run: Evaluation, inputs: readonly DenseArray[]): DenseArray =>
    build(run, broadcastDims(inputs), (at) => compute(...inputs.map((input) => read(input, at))))

const reduction =
  (fold: (values: readonly number[]) => number) =>
  (
    run: Evaluation,
    [x]: readonly [DenseArray],
    { axes, keepdims }: Op<'sum' | 'mean' | 'max' | 'min' | 'prod'>,
  ): DenseArray => {
    const kept = reduce(run, x, axes, fold)
    return keepdims ? kept : { dims: x.dims.filter((_, i) => !axes.includes(i)), data: kept.data }
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
  random_bits: (run, [seed], { shape, stream }) => {
    const columns = typeof shape.at(-1) === 'number' ? Number(shape.at(-1)) : 1
    const words = streamWords(stream, columns)
    const dims = shape.map((dim) => run.size(dim))
    let position = 0
    return build(run, dims, () => {
      const [row, column] = [Math.floor(position / columns), position++ % columns]
      return elementBits(rowWords(seed.data[0]!, words.start, row), words.columns[column]!)
    })
  },
  count: (run, _, { dims }) => build(run, [], () => dims.reduce<number>((n, dim) => n * run.size(dim), 1)),

  neg: map((x) => -x),
  exp: map(Math.exp),
  log: map(Math.log),
  sqrt: map(Math.sqrt),
  abs: map(Math.abs),
  square: map((x) => x * x),
  erf: map(erf),
  floor: map(Math.floor),
  leaky_relu: (run, inputs, { slope }) => map((x) => (x > 0 ? x : slope * x))(run, inputs),
  relu: map((x) => Math.max(x, 0)),
  sigmoid: map(sigmoid),
  tanh: map(Math.tanh),
  not: map((x) => Number(!x)),
  cast: (run, [x], { to }) =>
    map(to === 'bool' ? (v) => Number(v !== 0) : to.startsWith('int') ? Math.trunc : (v) => v)(run, [x]),
  stop_gradient: (_, [x]) => x,

  add: map((a, b) => a + b),
  sub: map((a, b) => a - b),
  mul: map((a, b) => a * b),
  div: map((a, b) => a / b),
  pow: map(Math.pow),
  minimum: map(Math.min),
  maximum: map(Math.max),
  greater: map((a, b) => Number(a > b)),
  equal: map((a, b) => Number(a === b)),
  and: map((a, b) => Number(a && b)),
  where: map((condition, a, b) => (condition ? a : b)),
  phase: map((training) => training),

  gemm: (run, [a, b, bias], { transposeA, transposeB }) => {
    const left = (i: number, k: number) => read(a, transposeA ? [k, i] : [i, k])
    const right = (k: number, j: number) => read(b, transposeB ? [j, k] : [k, j])
    const [m, inner] = transposeA ? a.dims.toReversed() : a.dims
    const n = transposeB ? b.dims[0]! : b.dims[1]!
    return build(run, [m!, n], ([i, j]) => {
      let sum = bias ? bias.data[j!]! : 0
      for (let k = 0; k < inner!; k++) sum += left(i!, k) * right(k, j!)
      return sum
    })
  },
  matmul: (run, [a, b]) => {
    const batch = broadcastDims([a, b].map(({ dims, data }) => ({ dims: dims.slice(0, -2), data })))
    return build(run, [...batch, a.dims.at(-2)!, b.dims.at(-1)!], (at) => {
      const [lead, i, j] = [at.slice(0, -2), at.at(-2)!, at.at(-1)!]
      let sum = 0
      for (let k = 0; k < a.dims.at(-1)!; k++) sum += read(a, [...lead, i, k]) * read(b, [...lead, k, j])
      return sum
    })
  },

  sum: reduction(total),
  mean: reduction((values) => total(values) / values.length),
  max: reduction((values) => Math.max(...values)),
  min: reduction((values) => Math.min(...values)),
  prod: reduction((values) => values.reduce((a, b) => a * b, 1)),
  softmax: (run, [x], { axis }) => map((v, norm) => Math.exp(v - norm))(run, [x, logSumExp(run, x, axis)]),
  log_softmax: (run, [x], { axis }) => map((v, norm) => v - norm)(run, [x, logSumExp(run, x, axis)]),
  cumsum: (run, [x], { axis, exclusive, reverse }) =>
    build(run, x.dims, (at) => {
      const here = at[axis]!
      let sum = 0
      for (let i = 0; i < x.dims[axis]!; i++) {
        const counts = i === here ? !exclusive : reverse ? i > here : i < here
        if (counts) sum += read(x, at.with(axis, i))
      }
      return sum
    }),
  top_k: (run, [x], { axis, k }) =>
    build(run, x.dims.with(axis, k), (at) => {
      const line = Array.from({ length: x.dims[axis]! }, (_, i) => ({ i, value: read(x, at.with(axis, i)) }))
      return line.sort((a, b) => b.value - a.value || a.i - b.i)[at[axis]!]!.i
    }),

  reshape: (run, [x], { shape }) => ({ dims: shape.map((dim) => run.size(dim)), data: x.data }),
  expand: (run, [x], { shape }) => {
    const dims = shape.map((dim) => run.size(dim))
    return build(run, dims, (at) => read(x, at))
  },
  transpose: (run, [x], { permutation }) => {
    const dims = permutation.map((axis) => x.dims[axis]!)
    const back = permutation.map((_, i) => permutation.indexOf(i))
    const from = (at: readonly number[]) => back.map((axis) => at[axis]!)
    return build(run, dims, (at) => read(x, from(at)))
  },
  concat: (run, inputs, { axis }) => {
    const dims = inputs[0].dims.with(axis, total(inputs.map((input) => input.dims[axis]!)))
    return build(run, dims, (at) => {
      let position = at[axis]!
      let piece = 0
      while (position >= inputs[piece]!.dims[axis]!) position -= inputs[piece++]!.dims[axis]!
      return read(inputs[piece]!, at.with(axis, position))
    })
  },
  flip: (run, [x], { axis }) => build(run, x.dims, (at) => read(x, at.with(axis, x.dims[axis]! - 1 - at[axis]!))),
  slice: (run, [x], { axis, start, end }) => {
    const from = run.size(start)
    return build(run, x.dims.with(axis, run.size(end) - from), (at) => read(x, at.with(axis, at[axis]! + from)))
  },
  pad: (run, [x], { axis, before, after }) => {
    const size = x.dims[axis]!
    const from = run.size(before)
    return build(run, x.dims.with(axis, from + size + run.size(after)), (at) => {
      const position = at[axis]! - from
      return position < 0 || position >= size ? 0 : x.data[offset(x.dims, at.with(axis, position))]!
    })
  },

  gather: (run, [x, indices]) => {
    const depth = indices.dims.length
    return build(run, [...indices.dims, ...x.dims.slice(1)], (at) =>
      read(x, [read(indices, at.slice(0, depth)), ...at.slice(depth)]),
    )
  },
  gather_nd: (run, [x, indices]) => {
    const lead = indices.dims.slice(0, -1)
    return build(run, [...lead, ...x.dims.slice(indices.dims.at(-1))], (at) =>
      read(x, [...tuple(indices, at.slice(0, lead.length)), ...at.slice(lead.length)]),
    )
  },
  scatter_add: (run, [indices, updates], { shape }) => {
    const out = run.zeros(shape.map((dim) => run.size(dim)))
    const lead = indices.dims.length - 1
    each(updates, (value, at) => {
      out.data[offset(out.dims, [...tuple(indices, at.slice(0, lead)), ...at.slice(lead)])]! += value
    })
    return out
  },
  take_along: (run, [x, indices], { axis }) =>
    build(run, indices.dims, (at) => read(x, at.with(axis, read(indices, at)))),
  scatter_along: (run, [indices, updates], { axis, size }) => {
    const out = run.zeros(updates.dims.with(axis, run.size(size)))
    each(updates, (value, at) => {
      out.data[offset(out.dims, at.with(axis, read(indices, at)))]! += value
    })
    return out
  },

  softmax_cross_entropy: (run, [x, label]) => {
    const classes = x.dims.at(-1)!
    const norm = logSumExp(run, x, x.dims.length - 1)
    return build(run, label.dims, (at) => {
      const index = read(label, at)
      return index >= 0 && index < classes ? read(norm, at) - read(x, at.with(-1, index)) : Number.NaN
    })
  },
  sigmoid_cross_entropy: map((x, z) => softplus(x) - x * z),
}

/** The error function to double precision: its series near 0, a continued fraction of erfc beyond. */
function erf(x: number): number {
  const size = Math.abs(x)
  if (size > 6) return Math.sign(x)
  if (size < 2.5) {
    let [term, sum] = [x, x]
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (-x * x) / n
      sum += term / (2 * n + 1)
    }
    return (2 / Math.sqrt(Math.PI)) * sum
  }
  let fraction = size
  for (let n = 60; n > 0; n--) fraction = size + n / 2 / fraction
  return Math.sign(x) * (1 - Math.exp(-x * x) / (fraction * Math.sqrt(Math.PI)))
}

/** ln(sum(e^x)) along an axis, kept at size 1. */
function logSumExp(run: Evaluation, x: DenseArray, axis: number): DenseArray {
  return reduce(run, x, [axis], (values) => {
    const top = Math.max(...values)
    return top + Math.log(total(values.map((value) => Math.exp(value - top))))
  })
}

/** The index tuple at a coordinate of everything but the last axis. */
function tuple(indices: DenseArray, at: readonly number[]): number[] {
  return Array.from({ length: indices.dims.at(-1)! }, (_, i) => read(indices, [...at, i]))
}
