/** @file One case per op of the union; a missing one is a compile error. */
import {
  abs,
  add,
  and,
  cast,
  concat,
  constant,
  count,
  cumsum,
  div,
  equal,
  erf,
  exp,
  expand,
  flip,
  floor,
  gather,
  gatherNd,
  gemm,
  greater,
  iota,
  leakyRelu,
  log,
  logSoftmax,
  matmul,
  max,
  maximum,
  mean,
  min,
  minimum,
  mul,
  neg,
  not,
  type OpKind,
  pad,
  phase,
  pow,
  prod,
  randomUniform,
  relu,
  reshape,
  type Shape,
  scatterAdd,
  scatterAlong,
  sigmoid,
  sigmoidCrossEntropy,
  slice,
  softmax,
  softmaxCrossEntropy,
  sqrt,
  square,
  stopGradient,
  sub,
  sum,
  type Tensor,
  takeAlong,
  tanh,
  topK,
  transpose,
  unsqueeze,
  where,
} from '../../src/graph/program/index.ts'
import type { OpCase, Sizes } from './case.ts'

const batch = ({ n }: Sizes): readonly Shape[] => [['B', n]]
/** Two operands that broadcast both ways. */
const pair = ({ n }: Sizes): readonly Shape[] => [['B', n], [n]]
const cross = ({ m, n }: Sizes): readonly Shape[] => [
  [m, 1, n],
  [3, 1],
]

const unary = (f: (x: Tensor) => Tensor, rest: Partial<OpCase> = {}): OpCase => ({
  shapes: batch,
  build: ([x]) => f(x!),
  ...rest,
})
const binary = (f: (a: Tensor, b: Tensor) => Tensor, rest: Partial<OpCase> = {}): OpCase => ({
  shapes: pair,
  build: ([a, b]) => f(a!, b!),
  ...rest,
})
const positive = { range: [0.2, 3] } as const
const flat = { differentiable: false } as const

export const OP_CASES: { readonly [K in OpKind]: OpCase } = {
  constant: {
    shapes: ({ n }) => [[n]],
    build: ([x], _, { n }) =>
      mul(
        x!,
        constant(
          x!.builder,
          Array.from({ length: 2 * n }, (_, i) => i - 2.5),
          { shape: [2, n] },
        ),
      ),
  },
  iota: { shapes: ({ n }) => [[n]], build: ([x], _, { n }) => mul(x!, cast(iota(x!.builder, n), 'float32')) },
  random_bits: unary((x) => randomUniform(x.builder, x.shape, 'draw'), flat),
  count: { shapes: ({ n }) => [['B', 'T', n]], build: ([x]) => div(x!, count(x!.builder, x!.shape)) },

  neg: unary(neg),
  exp: unary(exp),
  log: unary(log, positive),
  sqrt: unary(sqrt, positive),
  abs: unary(abs),
  square: unary(square),
  erf: unary(erf),
  floor: unary(floor, flat),
  relu: unary(relu),
  leaky_relu: unary((x) => leakyRelu(x, 0.1)),
  sigmoid: unary(sigmoid),
  tanh: unary(tanh),
  not: unary((x) => not(greater(x, 0)), flat),
  cast: unary((x) => add(cast(cast(x, 'int32'), 'float32'), x)),
  stop_gradient: unary((x) => mul(stopGradient(x), x), { numeric: false }),

  add: binary(add),
  sub: binary(sub, { shapes: cross }),
  mul: binary(mul, { shapes: cross }),
  div: binary(div, positive),
  pow: binary(pow, positive),
  minimum: binary(minimum, { shapes: cross }),
  maximum: binary(maximum),
  greater: binary(greater, flat),
  equal: binary((a, b) => equal(floor(a), floor(b)), flat),
  and: binary((a, b) => and(greater(a, 0), greater(b, 0)), flat),
  where: binary((a, b) => where(greater(a, b), square(a), b)),
  phase: binary((a, b) => phase(a, b), {
    shapes: ({ n }) => [
      ['B', n],
      ['B', n],
    ],
  }),

  gemm: {
    shapes: ({ n, m }) => [['B', n], [m, n], [m]],
    build: ([a, b, bias]) => gemm(a!, b!, { bias: bias!, transposeB: true }),
  },
  matmul: {
    shapes: ({ n, m, k }) => [
      ['B', 'T', n],
      [1, m, n, k],
    ],
    build: ([a, b]) => matmul(unsqueeze(a!, 1), b!),
  },

  sum: { shapes: ({ n }) => [['B', 'T', n]], build: ([x]) => sum(x!, [0, 2]) },
  mean: { shapes: ({ n }) => [['B', 'T', n]], build: ([x]) => mean(x!, [0, -1], true) },
  max: { shapes: ({ n }) => [['B', 'T', n]], build: ([x]) => max(x!, 1) },
  min: unary((x) => min(x, 0, true)),
  prod: unary((x) => prod(x, 1)),
  softmax: { shapes: ({ n }) => [['B', 'T', n]], build: ([x]) => softmax(x!, 1) },
  log_softmax: unary((x) => logSoftmax(x)),
  cumsum: unary((x) => add(cumsum(x, 1, { exclusive: true }), cumsum(x, 0, { reverse: true }))),
  top_k: { shapes: ({ n }) => [['B', n]], build: ([x], _, { n }) => topK(x!, Math.min(n, 2)).values },

  reshape: { shapes: ({ n }) => [['B', 'T', n]], build: ([x]) => square(reshape(x!, [-1, x!.shape[2]!])) },
  expand: unary((x) => expand(unsqueeze(x, 1), [x.shape[0]!, 4, x.shape[1]!])),
  transpose: { shapes: ({ n }) => [['B', 'T', n]], build: ([x]) => transpose(x!, [2, 0, 1]) },
  concat: {
    shapes: ({ n, m }) => [
      ['B', n],
      ['B', m],
    ],
    build: ([a, b]) => concat([a!, b!, a!], 1),
  },
  flip: { shapes: ({ n }) => [['B', 'T', n]], build: ([x]) => mul(flip(x!, 1), x!) },
  slice: { shapes: ({ n }) => [['B', 'T', n]], build: ([x]) => slice(slice(x!, 2, 1), 1, 0, -1) },
  pad: { shapes: ({ n }) => [['B', 'T', n]], build: ([x]) => pad(x!, 1, 2, 1) },

  gather: {
    shapes: ({ n, k }) => [[n, k]],
    ints: ({ n }) => [{ shape: ['B', 2], below: n }],
    build: ([x], [i]) => gather(x!, i!),
  },
  gather_nd: {
    shapes: ({ m, n, k }) => [[m, n, k]],
    ints: ({ m, n }) => [{ shape: ['B', 2], below: Math.min(m, n) }],
    build: ([x], [i]) => gatherNd(x!, i!),
  },
  scatter_add: {
    shapes: ({ k }) => [['B', k]],
    ints: ({ n }) => [{ shape: ['B', 1], below: n }],
    build: ([x], [i], { n }) => scatterAdd(i!, x!, [n, x!.shape[1]!]),
  },
  take_along: {
    shapes: batch,
    ints: ({ n }) => [{ shape: ['B', 2], below: n }],
    build: ([x], [i]) => takeAlong(x!, i!, 1),
  },
  scatter_along: {
    shapes: batch,
    ints: ({ n }) => [{ shape: ['B', n], below: n }],
    build: ([x], [i], { n }) => scatterAlong(i!, x!, 1, n),
  },

  softmax_cross_entropy: {
    shapes: batch,
    ints: ({ n }) => [{ shape: ['B', 1], below: n }],
    build: ([x], [i]) => softmaxCrossEntropy(x!, i!),
  },
  sigmoid_cross_entropy: {
    shapes: ({ n }) => [
      ['B', n],
      ['B', n],
    ],
    build: ([x, z]) => sigmoidCrossEntropy(x!, sigmoid(z!)),
  },
}
