/** @file Elementwise ops as functions; operands broadcast, and one of two may be a number. */
import type { Tensor } from './builder.ts'
import type { DType } from './op.ts'
import { binary, constant, type Operand, promote, unary } from './operand.ts'

export const neg = unary('neg')
export const exp = unary('exp')
export const log = unary('log')
export const sqrt = unary('sqrt')
export const abs = unary('abs')
export const square = unary('square')
export const erf = unary('erf')
/** No gradient passes. */
export const floor = unary('floor')
export const relu = unary('relu')
export const sigmoid = unary('sigmoid')
export const tanh = unary('tanh')
/** The operand, through which no gradient passes. */
export const stopGradient = unary('stop_gradient')

export const add = binary('add')
export const sub = binary('sub')
export const mul = binary('mul')
export const div = binary('div')
export const pow = binary('pow')
export const minimum = binary('minimum')
export const maximum = binary('maximum')
/** The first while training, the second at inference. */
export const phase = binary('phase')

export const greater = binary('greater')
export const equal = binary('equal')
export const less = (a: Operand, b: Operand): Tensor => greater(b, a)
export const greaterEqual = (a: Operand, b: Operand): Tensor => not(less(a, b))
export const lessEqual = (a: Operand, b: Operand): Tensor => not(greater(a, b))
export const notEqual = (a: Operand, b: Operand): Tensor => not(equal(a, b))
export const not = unary('not')
export const and: (a: Tensor, b: Tensor) => Tensor = binary('and')
export const or = (a: Tensor, b: Tensor): Tensor => not(and(not(a), not(b)))

export function leakyRelu(x: Tensor, slope = 0.01): Tensor {
  return x.builder.emit({ kind: 'leaky_relu', slope }, [x])
}

/** x where positive, else slope * x, with a slope that is learned. */
export function prelu(x: Tensor, slope: Tensor): Tensor {
  return sub(relu(x), mul(slope, relu(neg(x))))
}

/** x times the normal distribution function at x. */
export function gelu(x: Tensor): Tensor {
  return mul(mul(x, 0.5), add(erf(mul(x, Math.SQRT1_2)), 1))
}

/** ln(1 + e^x), without overflow. */
export function softplus(x: Tensor): Tensor {
  return add(relu(x), log(add(exp(neg(abs(x))), 1)))
}

/** -1, 0 or 1; no gradient passes. */
export function sign(x: Tensor): Tensor {
  return sub(cast(greater(x, 0), x.dtype), cast(greater(0, x), x.dtype))
}

/** `a` where the condition holds, else `b`. */
export function where(condition: Tensor, a: Operand, b: Operand): Tensor {
  const { builder } = condition
  const numbers = typeof a === 'number' && typeof b === 'number'
  const [left, right] = numbers ? [constant(builder, a), constant(builder, b)] : promote(a, b)
  return builder.emit({ kind: 'where' }, [condition, left, right])
}

/** The operand with every value held within [low, high]. */
export function clip(x: Tensor, low: number, high: number): Tensor {
  return minimum(maximum(x, low), high)
}

export function cast(x: Tensor, to: DType): Tensor {
  return x.dtype === to ? x : x.builder.emit({ kind: 'cast', to }, [x])
}
