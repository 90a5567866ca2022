/** @file Seeded random numbers, the same on every platform (in 32-bit arithmetic: bigints are too slow for weights), and 64-bit mixing: seeds by name, and the plain counterpart of what the kernels do. */

/** Seeded random numbers. */
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

const MASK = (1n << 64n) - 1n
export const GOLDEN = 0x9e3779b97f4a7c15n

/** splitmix64's finalizer: a bijection of 64-bit words, unsigned. */
export function mix64(value: bigint): bigint {
  let x = value & MASK
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK
  return x ^ (x >> 31n)
}

/** A 64-bit hash of text (FNV-1a, then mixed), for seeds that depend on a name and not on order of creation. */
export function hashText(text: string): bigint {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & MASK
  return mix64(hash)
}

/** The seed of one named thing (a table, a parameter, a dropout) under a job's seed. */
export function deriveSeed(seed: number | bigint, name: string): bigint {
  return mix64((BigInt(seed) * GOLDEN) ^ hashText(name))
}
