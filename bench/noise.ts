/** @file Whether two series of rounds differ: the median of their ratios round by round, and how far chance moves it. */
import { median } from './tools.ts'

export interface Comparison {
  /** Median of the rounds' ratios. */
  readonly ratio: number
  /** The middle 90 % of such medians over rounds drawn anew. */
  readonly low: number
  readonly high: number
}

const DRAWS = 4000

/** Rounds stand side by side: what slowed one down slowed the other down as well. */
export function compare(better: readonly number[], base: readonly number[]): Comparison {
  const ratios = better.map((value, round) => value / base[round]!)
  const random = numbersFrom(1)
  const medians = Array.from({ length: DRAWS }, () =>
    median(ratios.map(() => ratios[Math.floor(random() * ratios.length)]!)),
  ).sort((a, b) => a - b)
  return { ratio: median(ratios), low: medians[Math.floor(0.05 * DRAWS)]!, high: medians[Math.floor(0.95 * DRAWS)]! }
}

/** The same draws every time (mulberry32): the same rounds give the same verdict. */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
