/** @file The logarithm of declared features: float32 arithmetic that has the same bits in every language. */

const { fround } = Math
const number = new Float32Array(1)
const bits = new Int32Array(number.buffer)

// Each is a float32.
const LN2 = 0.6931471824645996
const [L1, L2, L3] = [0.6666677594184875, 0.3997759222984314, 0.29870277643203735] as const

/**
 * sign(x) log(1 + |x|) of a float32, 3 ulp from the true value at most. With 1 + |x| = 2^k (1 + f), f from -0.3 to 0.42, and s = f / (2 + f)
 * it is k ln 2 + 2 atanh s. Math.log1p takes as long as reading a number from text does; kernels make four of these at once
 * (assembly/log.ts).
 */
export function signedLog(x: number): number {
  const a = Math.abs(x)
  number[0] = 1 + a
  // A quarter of 2^k, of which the inverse is a normal number too.
  bits[0] = (bits[0]! + 0x004afb0d - 0x01000000) & 0xff800000
  const k = (bits[0]! >>> 23) - 125
  const power = number[0]!
  const rest = fround(fround(0.25 * a) - fround(power - 0.25))
  bits[0] = 0x7f000000 - bits[0]!
  const f = fround(rest * number[0]!)
  const s = fround(f / fround(f + 2))
  const z = fround(s * s)
  const inner = fround(fround(z * L3) + L2)
  const outer = fround(fround(z * inner) + L1)
  const curve = fround(s * fround(fround(z * outer) + 2))
  const log = fround(curve + fround(k * LN2))
  return x < 0 ? -log : x > 0 ? log : x
}
