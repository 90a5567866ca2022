/** @file Seeded random numbers, the same on every platform, in 32-bit arithmetic (bigints are too slow for weights). */

export interface Rng {
  /** Uniform in [0, 1) with 53 bits. */
  uniform(): number
  /** Standard normal by Box-Muller. */
  normal(): number
  /** Uniform integer in [0, n). */
  below(n: number): number
}

/** sfc32 seeded by 64 bits. */
export function createRng(seed: bigint): Rng {
  let a = Number(seed & 0xffffffffn) | 0
  let b = Number((seed >> 32n) & 0xffffffffn) | 0
  let c = 0x9e3779b9 | 0
  let counter = 1
  const bits = () => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  for (let i = 0; i < 12; i++) bits() // the seed's bits need some rounds to spread
  const uniform = () => (bits() * 2 ** 21 + (bits() >>> 11)) / 2 ** 53
  return {
    uniform,
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
    below: (n) => Math.floor(uniform() * n),
  }
}
