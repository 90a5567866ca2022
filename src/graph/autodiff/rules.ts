/**
 * @file The second table: for y = op(x...), the gradient of the loss by each x, given g = dL/dy (the shape of y).
 * null where none flows. Each result has the shape of its operand; the simplifier removes what that costs.
 */
import {
  add,
  addDims,
  cast,
  count,
  cumsum,
  type Dim,
  div,
  equal,
  exp,
  expand,
  flip,
  gatherNd,
  gemm,
  greater,
  log,
  matmul,
  mul,
  neg,
  type Op,
  type Operands,
  type OpKind,
  oneHot,
  pad,
  pow,
  prod,
  reshape,
  scatterAdd,
  scatterAlong,
  sigmoid,
  sign,
  slice,
  softmax,
  square,
  sub,
  subDims,
  sum,
  type Tensor,
  takeAlong,
  transpose,
  unsqueeze,
  where,
} from '../program/index.ts'

/** y and its op; x, a, b, ... are the operands in order. */
export interface Application<K extends OpKind> {
  readonly op: Op<K>
  readonly inputs: Operands<K, Tensor>
  readonly y: Tensor
}
export type GradientRule<K extends OpKind> = (g: Tensor, application: Application<K>) => readonly (Tensor | null)[]
export type GradientRules = { readonly [K in OpKind]: GradientRule<K> }

const none = (): readonly null[] => []

export const GRADIENT_RULES: GradientRules = {
  constant: none,
  iota: none,
  random_bits: none,
  count: none,

  // d(-x) = -dx
  neg: (g) => [neg(g)],
  // d e^x = e^x dx
  exp: (g, { y }) => [mul(g, y)],
  // d ln x = dx / x
  log: (g, { inputs: [x] }) => [div(g, x)],
  // d sqrt(x) = dx / (2 sqrt(x))
  sqrt: (g, { y }) => [div(mul(g, 0.5), y)],
  // d |x| = sign(x) dx
  abs: (g, { inputs: [x] }) => [mul(g, sign(x))],
  // d x^2 = 2x dx
  square: (g, { inputs: [x] }) => [mul(mul(g, 2), x)],
  // d erf(x) = 2 / sqrt(pi) e^-x^2 dx
  erf: (g, { inputs: [x] }) => [mul(g, mul(exp(neg(square(x))), 2 / Math.sqrt(Math.PI)))],
  floor: none,
  // d max(x, 0) = [y > 0] dx
  relu: (g, { y }) => [mul(g, indicator(greater(y, 0), g))],
  // d = dx where x > 0, else slope dx
  leaky_relu: (g, { inputs: [x], op: { slope } }) => [where(greater(x, 0), g, mul(g, slope))],
  // d s(x) = s (1 - s) dx
  sigmoid: (g, { y }) => [mul(g, mul(y, sub(1, y)))],
  // d tanh(x) = (1 - tanh^2) dx
  tanh: (g, { y }) => [mul(g, sub(1, mul(y, y)))],
  not: none,
  cast: (g, { inputs: [x] }) => [cast(g, x.dtype)],
  stop_gradient: none,

  // d(a + b) = da + db; where an operand was broadcast, its gradient is summed over the copies
  add: (g, { inputs: [a, b] }) => [sumTo(g, a), sumTo(g, b)],
  sub: (g, { inputs: [a, b] }) => [sumTo(g, a), sumTo(neg(g), b)],
  // d(ab) = b da + a db
  mul: (g, { inputs: [a, b] }) => [sumTo(mul(g, b), a), sumTo(mul(g, a), b)],
  // d(a/b) = da/b - (a/b) db/b
  div: (g, { inputs: [a, b], y }) => [sumTo(div(g, b), a), sumTo(neg(mul(g, div(y, b))), b)],
  // d a^b = b a^(b-1) da + a^b ln(a) db; the second only where a > 0
  pow: (g, { inputs: [a, b], y }) => [
    sumTo(mul(g, mul(b, pow(a, sub(b, 1)))), a),
    sumTo(mul(g, mul(y, logOrZero(a))), b),
  ],
  // the smaller one gets it; equal ones share it
  minimum: (g, { inputs: [a, b] }) => shareOf(g, a, b, greater(b, a)),
  maximum: (g, { inputs: [a, b] }) => shareOf(g, a, b, greater(a, b)),
  greater: none,
  equal: none,
  and: none,
  where: (g, { inputs: [condition, a, b] }) => [
    null,
    sumTo(where(condition, g, 0), a),
    sumTo(where(condition, 0, g), b),
  ],
  phase: (g) => [g, null],

  // Y = A B + 1 c':  dA = G B',  dB = A' G,  dc = the column sums of G
  gemm: (g, { inputs: [a, b, bias], op: { transposeA, transposeB } }) => [
    transposeA ? gemm(b, g, { transposeA: transposeB, transposeB: true }) : gemm(g, b, { transposeB: !transposeB }),
    transposeB ? gemm(g, a, { transposeA: true, transposeB: transposeA }) : gemm(a, g, { transposeA: !transposeA }),
    bias ? sum(g, 0) : null,
  ],
  matmul: (g, { inputs: [a, b] }) => [sumTo(matmul(g, transpose(b)), a), sumTo(matmul(transpose(a), g), b)],

  // dx_i = g of the group that i was summed into
  sum: (g, { inputs: [x], op }) => [expand(keepAxes(g, x, op.axes), x.shape)],
  // the same over the group's size
  mean: (g, { inputs: [x], op }) => [expand(keepAxes(mul(g, reciprocalCount(x, op.axes)), x, op.axes), x.shape)],
  // the largest (smallest) gets it; equal ones share it
  max: (g, { inputs: [x], op, y }) => [toWinners(g, x, y, op.axes)],
  min: (g, { inputs: [x], op, y }) => [toWinners(g, x, y, op.axes)],
  // dx_i = g times the product of all the others
  prod: (g, { inputs: [x], op: { axes } }) => [mul(keepAxes(g, x, axes), productOfOthers(x, axes))],
  // dx = y (g - sum(g y))
  softmax: (g, { y, op: { axis } }) => [mul(y, sub(g, sum(mul(g, y), axis, true)))],
  // dx = g - softmax(x) sum(g)
  log_softmax: (g, { inputs: [x], op: { axis } }) => [sub(g, mul(softmax(x, axis), sum(g, axis, true)))],
  // each element is in the sums from its place on: the same sums, run the other way
  cumsum: (g, { op: { axis, exclusive, reverse } }) => [cumsum(g, axis, { exclusive, reverse: !reverse })],
  top_k: none,

  reshape: (g, { inputs: [x] }) => [reshape(g, x.shape)],
  expand: (g, { inputs: [x] }) => [sumTo(g, x)],
  transpose: (g, { op: { permutation } }) => {
    const back = permutation.map((_, i) => permutation.indexOf(i))
    return [transpose(g, back)]
  },
  concat: (g, { inputs, op: { axis } }) => {
    let start: Dim = 0
    return inputs.map((input) => {
      const from: Dim = start
      start = addDims(start, input.shape[axis]!)
      return slice(g, axis, from, start)
    })
  },
  flip: (g, { op: { axis } }) => [flip(g, axis)],
  slice: (g, { inputs: [x], op: { axis, start, end } }) => [pad(g, axis, start, subDims(x.shape[axis]!, end))],
  pad: (g, { inputs: [x], op: { axis, before } }) => [slice(g, axis, before, addDims(before, x.shape[axis]!))],

  // a row used several times gets the sum of its gradients
  gather: (g, { inputs: [x, indices] }) => [scatterAdd(unsqueeze(indices, -1), g, x.shape), null],
  gather_nd: (g, { inputs: [x, indices] }) => [scatterAdd(indices, g, x.shape), null],
  scatter_add: (g, { inputs: [indices] }) => [null, gatherNd(g, indices)],
  take_along: (g, { inputs: [x, indices], op: { axis } }) => [scatterAlong(indices, g, axis, x.shape[axis]!), null],
  scatter_along: (g, { inputs: [indices], op: { axis } }) => [null, takeAlong(g, indices, axis)],

  // L = -ln softmax(x)[label]:  dx = (softmax(x) - onehot(label)) g
  softmax_cross_entropy: (g, { inputs: [x, label] }) => [
    mul(sub(softmax(x), oneHot(label, Number(x.shape.at(-1)))), g),
    null,
  ],
  // L = ln(1 + e^x) - z x:  dx = (s(x) - z) g,  dz = -x g
  sigmoid_cross_entropy: (g, { inputs: [x, z] }) => [mul(sub(sigmoid(x), z), g), mul(neg(x), g)],
}

/** g summed over the axes along which `x` was broadcast to g's shape. */
function sumTo(g: Tensor, x: Tensor): Tensor {
  const missing = g.shape.length - x.shape.length
  const leading = g.shape.map((_, i) => i).slice(0, missing)
  const stretched = x.shape.flatMap((dim, i) => (dim === 1 && g.shape[missing + i] !== 1 ? [i] : []))
  const tight = leading.length === 0 ? g : sum(g, leading)
  return stretched.length === 0 ? tight : sum(tight, stretched, true)
}

/** A reduced tensor with its axes put back at size 1. */
function keepAxes(reduced: Tensor, x: Tensor, axes: readonly number[]): Tensor {
  const kept = x.shape.map((dim, i) => (axes.includes(i) ? 1 : dim))
  return reshape(reduced, kept)
}

function reciprocalCount(x: Tensor, axes: readonly number[]): Tensor {
  const dims = axes.map((axis) => x.shape[axis]!)
  return div(1, cast(count(x.builder, dims), x.dtype))
}

/** 1 where a condition holds, else 0, in the dtype of `like`. */
function indicator(condition: Tensor, like: Tensor): Tensor {
  return cast(condition, like.dtype)
}

function logOrZero(x: Tensor): Tensor {
  return log(where(greater(x, 0), x, 1))
}

function toWinners(g: Tensor, x: Tensor, y: Tensor, axes: readonly number[]): Tensor {
  const winners = indicator(equal(x, keepAxes(y, x, axes)), g)
  return mul(winners, div(keepAxes(g, x, axes), sum(winners, axes, true)))
}

/** Exact where elements are 0: of one zero only the zero gets the product of the rest, of two nobody does. */
function productOfOthers(x: Tensor, axes: readonly number[]): Tensor {
  const isZero = equal(x, 0)
  const zeros = sum(indicator(isZero, x), axes, true)
  const nonZero = where(isZero, 1, x)
  const product = prod(nonZero, axes, true)
  const othersZero = sub(zeros, indicator(isZero, x)) // zeros among the others
  return mul(div(product, nonZero), indicator(equal(othersZero, 0), x))
}

/** g to `a` where it won, to `b` where it lost, half to each where they are equal. */
function shareOf(g: Tensor, a: Tensor, b: Tensor, won: Tensor): [Tensor, Tensor] {
  const share = add(indicator(won, g), mul(indicator(equal(a, b), g), 0.5))
  return [sumTo(mul(g, share), a), sumTo(mul(g, sub(1, share)), b)]
}
