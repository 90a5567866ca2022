/** @file The logarithm of declared features: float32 arithmetic that has the same bits in every language. */

const { fround } = Math
const ROOT_HALF = 0x3f3504f3 // the bits of sqrt(1/2)
const number = new Float32Array(1)
const bits = new Int32Array(number.buffer)

/**
 * sign(x) log(1 + |x|) of a float32, 2 ulp from the true value at most, by the steps of fdlibm's logf. Math.log1p takes as long as reading a
 * number from text does; the kernel of text makes four of these at once (assembly/text-log.ts).
 */
export function signedLog(x: number): number {
  const a = Math.abs(x)
  // 1 + a = 2^k m with m from sqrt(1/2) to sqrt(2)
  number[0] = 1 + a
  const shifted = bits[0]! + 0x3f800000 - ROOT_HALF
  const k = (shifted >>> 23) - 127
  bits[0] = (shifted & 0x007fffff) + ROOT_HALF
  // Where k is 0, a itself has the digits that 1 + a has lost.
  const f = k === 0 ? a : fround(number[0]! - 1)
  const s = fround(f / fround(2 + f))
  const z = fround(s * s)
  const w = fround(z * z)
  const even = fround(w * fround(L2 + fround(w * L4)))
  const odd = fround(z * fround(L1 + fround(w * L3)))
  const half = fround(fround(0.5 * f) * f)
  const curve = fround(s * fround(half + fround(odd + even)))
  const low = fround(curve + fround(k * LN2_LOW))
  const log = fround(fround(fround(low - half) + f) + fround(k * LN2_HIGH))
  return x < 0 ? -log : x > 0 ? log : x
}

// Each is a float32.
const [L1, L2, L3, L4] = [0.6666666269302368, 0.40000972151756287, 0.2849878668785095, 0.24279078841209412] as const
const [LN2_HIGH, LN2_LOW] = [0.6931381225585938, 0.00000905800061445916] as const
