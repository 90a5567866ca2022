/** @file Elementwise ops as functions; operands broadcast, and one of two may be a number. */
import type { Tensor } from './builder.ts'
import type { DType } from './op.ts'
import { binary, constant, type Operand, promote, unary } from './operand.ts'

/** -x. */
export const neg = unary('neg')
/** e to the x. */
export const exp = unary('exp')
/** The natural logarithm. */
export const log = unary('log')
/** The square root. */
export const sqrt = unary('sqrt')
/** The absolute value. */
export const abs = unary('abs')
/** x * x. */
export const square = unary('square')
/** The error function. */
export const erf = unary('erf')
/** No gradient passes. */
export const floor = unary('floor')
/** x where positive, else 0. */
export const relu = unary('relu')
/** 1 / (1 + e to the -x). */
export const sigmoid = unary('sigmoid')
/** The hyperbolic tangent. */
export const tanh = unary('tanh')
/** The operand, through which no gradient passes. */
export const stopGradient = unary('stop_gradient')

/**
 * a + b, broadcast.
 *
 * @example add(x, 1)
 */
export const add = binary('add')
/** a - b, broadcast. */
export const sub = binary('sub')
/** a * b, broadcast. */
export const mul = binary('mul')
/** a / b, broadcast. */
export const div = binary('div')
/** a to the b, broadcast. */
export const pow = binary('pow')
/** The smaller of a and b, element by element. */
export const minimum = binary('minimum')
/** The larger of a and b, element by element. */
export const maximum = binary('maximum')
/** The first while training, the second at inference. */
export const phase = binary('phase')

/** Where a > b, as bool. */
export const greater = binary('greater')
/** Where a and b are equal, as bool. */
export const equal = binary('equal')
/** Where a < b, as bool. */
export const less = (a: Operand, b: Operand): Tensor => greater(b, a)
/** Where a >= b, as bool. */
export const greaterEqual = (a: Operand, b: Operand): Tensor => not(less(a, b))
/** Where a <= b, as bool. */
export const lessEqual = (a: Operand, b: Operand): Tensor => not(greater(a, b))
/** Where a and b differ, as bool. */
export const notEqual = (a: Operand, b: Operand): Tensor => not(equal(a, b))
/** The opposite of a bool. */
export const not = unary('not')
/** Where both are true. */
export const and: (a: Tensor, b: Tensor) => Tensor = binary('and')
/** Where at least one is true. */
export const or = (a: Tensor, b: Tensor): Tensor => not(and(not(a), not(b)))

/** x where positive, else slope * x, with a fixed slope. */
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

/** The same values as another dtype. */
export function cast(x: Tensor, to: DType): Tensor {
  return x.dtype === to ? x : x.builder.emit({ kind: 'cast', to }, [x])
}
