/** @file Seeded random numbers as a pure function of (seed, counter), the same on every platform. */
import { GOLDEN, mix64 } from './hash.ts'

/** A small sequential generator over splitmix64 (not for hot loops). */
export interface Rng {
  /** The next 64 random bits. */
  bits(): bigint
  /** Uniform in [0, 1) with 53 bits. */
  uniform(): number
  /** Standard normal by Box-Muller. */
  normal(): number
  /** Uniform integer in [0, n). */
  below(n: number): number
}

export function createRng(seed: bigint): Rng {
  let counter = seed
  const bits = () => {
    counter = (counter + GOLDEN) & ((1n << 64n) - 1n)
    return mix64(counter)
  }
  const uniform = () => Number(bits() >> 11n) / 2 ** 53
  return {
    bits,
    uniform,
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
    below: (n) => Math.floor(uniform() * n),
  }
}
