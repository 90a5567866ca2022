/** @file The hidden truth behind generated clicks: how rows are drawn and how likely each is clicked. */
import { createRng, deriveSeed, type Rng } from '../../base/util/index.ts'

export const DENSE_COLUMNS = 13
export const SPARSE_COLUMNS = 26

/** Ranges of Criteo's 13 counts, as its readers scale them: (value - min) / range. */
export const DENSE_MIN = [0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
export const DENSE_RANGE = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]

/** Distinct values per column: columns that interact are small, the others go up to a million. */
const VOCABULARY = [
  1_000_000, 4, 300, 100_000, 3, 1_000_000, 60, 5, 1_000_000, 2000, 3, 500_000, 6, 1_000_000, 700, 4, 200_000, 5,
  1_000_000, 5000, 6, 1_000_000, 120, 100_000, 10_000, 30_000,
]
/** Of the interacting columns. */
const PAIRS = [
  [4, 7],
  [10, 15],
  [1, 17],
  [12, 20],
  [4, 15],
  [7, 10],
  [1, 12],
  [17, 20],
] as const // prettier-ignore
const TRIPLES = [
  [4, 10, 17],
  [7, 15, 1],
  [15, 4, 1],
] as const // prettier-ignore
/** Values of a column, from the most frequent on, that have effects of their own; rarer ones are like the average. */
const MAIN_VALUES = 4096
const PAIR_VALUES = 6
const TRIPLE_VALUES = 4

/** One row, overwritten by the next. */
export interface Row {
  /** Per column the value's rank by frequency, from 0; -1 where it is missing. */
  readonly ranks: Int32Array
  /** Per column its count minus the column's minimum; -1 where it is missing. */
  readonly counts: Int32Array
  label: number
  /** The hidden model's logit. */
  score: number
}

export interface HiddenModel {
  readonly row: Row
  /** Draws the next row. */
  next(): Row
}

/** Relative weights: chosen so that a linear model, a factorization machine and a deep network differ clearly after one pass. */
const STRENGTH = { main: 0.18, dense: 0.2, wave: 0.12, pair: 0.32, triple: 0.5, mixed: 0.15 }
/** Standard deviation of the logits: an AUC of about 0.8 for the hidden model itself. */
const LOGIT_SPREAD = 1.35
const POSITIVE_SHARE = 0.25

export function createHiddenModel(seed: number): HiddenModel {
  const score = createScore(createRng(deriveSeed(seed, 'criteo-like effects')))
  const row: Row = { ranks: new Int32Array(SPARSE_COLUMNS), counts: new Int32Array(DENSE_COLUMNS), label: 0, score: 0 }
  const { scale, intercept } = calibrate(createRng(deriveSeed(seed, 'criteo-like pilot')), row, score)
  const rng = createRng(deriveSeed(seed, 'criteo-like rows'))
  return {
    row,
    next: () => {
      drawInputs(rng, row)
      row.score = intercept + scale * score(row)
      row.label = rng.uniform() < sigmoid(row.score) ? 1 : 0
      return row
    },
  }
}

const LOG_VOCABULARY = VOCABULARY.map((size) => Math.log(size + 1))

/** Long-tailed ids (the r-th most frequent has a share of about 1 / r) and counts with most of their mass at the low end. */
function drawInputs(rng: Rng, { ranks, counts }: Row): void {
  for (let s = 0; s < SPARSE_COLUMNS; s++) {
    const missing = s % 5 === 3 && rng.uniform() < 0.04
    ranks[s] = missing ? -1 : Math.floor(Math.exp(rng.uniform() * LOG_VOCABULARY[s]!)) - 1
  }
  for (let d = 0; d < DENSE_COLUMNS; d++) {
    const missing = d % 4 === 2 && rng.uniform() < 0.05
    counts[d] = missing ? -1 : Math.floor((DENSE_RANGE[d]! + 1) * rng.uniform() ** 1.5)
  }
}

/** Effects drawn once: of values, of counts (linear and a wave), of pairs and triples of values, of values with counts. */
function createScore(rng: Rng): (row: Row) => number {
  const normals = (length: number, scale: number) => Float64Array.from({ length }, () => scale * rng.normal())
  const main = VOCABULARY.map((size) =>
    normals(Math.min(size, MAIN_VALUES), STRENGTH.main).map((effect, rank) => effect / Math.sqrt(1 + rank / 4)),
  )
  const slope = normals(DENSE_COLUMNS, STRENGTH.dense)
  const wave = normals(DENSE_COLUMNS, STRENGTH.wave)
  const pairs = PAIRS.map(() => normals(PAIR_VALUES ** 2, STRENGTH.pair))
  const triples = TRIPLES.map(() => normals(TRIPLE_VALUES ** 3, STRENGTH.triple))
  const mixed = PAIRS.map(() => normals(PAIR_VALUES, STRENGTH.mixed))

  return ({ ranks, counts }) => {
    let sum = 0
    for (let s = 0; s < SPARSE_COLUMNS; s++) {
      const rank = ranks[s]!
      if (rank >= 0 && rank < main[s]!.length) sum += main[s]![rank]!
    }
    for (let d = 0; d < DENSE_COLUMNS; d++) {
      const x = Math.max(0, counts[d]!) / DENSE_RANGE[d]!
      sum += slope[d]! * (x - 0.4) + wave[d]! * Math.cos(2 * Math.PI * x)
    }
    for (let p = 0; p < PAIRS.length; p++) {
      const [a, b] = [ranks[PAIRS[p]![0]]!, ranks[PAIRS[p]![1]]!]
      if (a >= 0 && a < PAIR_VALUES && b >= 0 && b < PAIR_VALUES) sum += pairs[p]![a * PAIR_VALUES + b]!
      if (a >= 0 && a < PAIR_VALUES) sum += mixed[p]![a]! * (Math.max(0, counts[p]!) / DENSE_RANGE[p]! - 0.4)
    }
    for (let t = 0; t < TRIPLES.length; t++) {
      const [a, b, c] = [ranks[TRIPLES[t]![0]]!, ranks[TRIPLES[t]![1]]!, ranks[TRIPLES[t]![2]]!]
      if (Math.min(a, b, c) < 0 || Math.max(a, b, c) >= TRIPLE_VALUES) continue
      sum += triples[t]![(a * TRIPLE_VALUES + b) * TRIPLE_VALUES + c]!
    }
    return sum
  }
}

/** Scale and intercept that give every seed the same spread of logits and a quarter of clicks, from a pilot of rows of its own. */
function calibrate(rng: Rng, row: Row, score: (row: Row) => number): { scale: number; intercept: number } {
  const pilot = Float64Array.from({ length: 20_000 }, () => {
    drawInputs(rng, row)
    return score(row)
  })
  const mean = pilot.reduce((sum, value) => sum + value, 0) / pilot.length
  const scale = LOGIT_SPREAD / Math.sqrt(pilot.reduce((sum, value) => sum + (value - mean) ** 2, 0) / pilot.length)
  let [low, high] = [-20, 20]
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2
    const share = pilot.reduce((sum, value) => sum + sigmoid(middle + scale * value), 0) / pilot.length
    if (share < POSITIVE_SHARE) low = middle
    else high = middle
  }
  return { scale, intercept: low }
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x))
}

/** Probability that a positive scores above a negative, ties counting half. */
export function exactAuc(positives: Float64Array, negatives: Float64Array): number {
  const [above, below] = [positives.slice().sort(), negatives.slice().sort()]
  let wins = 0
  let lower = 0
  let notHigher = 0
  for (const score of above) {
    while (lower < below.length && below[lower]! < score) lower++
    while (notHigher < below.length && below[notHigher]! <= score) notHigher++
    wins += (lower + notHigher) / 2
  }
  return wins / (above.length * below.length)
}
