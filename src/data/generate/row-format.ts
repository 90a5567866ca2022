/** @file Generated rows as lines of text: slot text, MultiSlot text, or Criteo's own tab-separated columns. */
import { DENSE_COLUMNS, DENSE_MIN, DENSE_RANGE, type Row, SPARSE_COLUMNS } from './hidden-model.ts'

export const GENERATED_FORMATS = ['slot', 'multislot', 'criteo-tsv'] as const
export type GeneratedFormat = (typeof GENERATED_FORMATS)[number]

/** A function that writes a row as a line with its newline (ASCII). */
export function createRowFormat(format: GeneratedFormat): (row: Row) => string {
  return FORMATS[format]()
}

const FORMATS: Readonly<Record<GeneratedFormat, () => (row: Row) => string>> = {
  slot: () => {
    const dense = denseTexts()
    const names = Array.from({ length: SPARSE_COLUMNS }, (_, s) => ` ${s + 1}:`)
    return ({ label, counts, ranks }) => {
      let line = label === 1 ? 'click:1' : 'click:0'
      for (let d = 0; d < DENSE_COLUMNS; d++) line += ` dense_feature:${dense(d, counts[d]!)}`
      for (let s = 0; s < SPARSE_COLUMNS; s++) line += names[s]! + idOf(s, ranks[s]!)
      return `${line}\n`
    }
  },
  multislot: () => {
    const dense = denseTexts()
    return ({ label, counts, ranks }) => {
      let line = label === 1 ? '1 1' : '1 0'
      for (let s = 0; s < SPARSE_COLUMNS; s++) line += ` 1 ${idOf(s, ranks[s]!)}`
      line += ' 13'
      for (let d = 0; d < DENSE_COLUMNS; d++) line += ` ${dense(d, counts[d]!)}`
      return `${line}\n`
    }
  },
  'criteo-tsv': () => {
    return ({ label, counts, ranks }) => {
      let line = label === 1 ? '1' : '0'
      for (let d = 0; d < DENSE_COLUMNS; d++) line += counts[d]! < 0 ? '\t' : `\t${counts[d]! + DENSE_MIN[d]!}`
      for (let s = 0; s < SPARSE_COLUMNS; s++) line += ranks[s]! < 0 ? '\t' : `\t${hexOf(s, ranks[s]!)}`
      return `${line}\n`
    }
  },
}

/** Scaled counts as text of up to six decimals, remembered: columns have few distinct values. */
function denseTexts(): (column: number, count: number) => string {
  const texts = DENSE_RANGE.map((range) => new Array<string | undefined>(range + 1))
  return (column, count) => {
    const value = Math.max(0, count)
    const known = texts[column]![value]
    if (known !== undefined) return known
    const text = String(Number((value / DENSE_RANGE[column]!).toFixed(6)))
    texts[column]![value] = text
    return text
  }
}

/**
 * Ids from 1 to 1,000,000 (0 is a missing value), scattered so that frequent values of different columns have different ids,
 * as hashing does. The multiplier is coprime to the modulus: within a column ids are distinct.
 */
function idOf(column: number, rank: number): number {
  return rank < 0 ? 0 : ((rank * 618_033 + column * 38_197) % 1_000_000) + 1
}

function hexOf(column: number, rank: number): string {
  let hash = Math.imul(rank + 1, 0x9e3779b1) ^ Math.imul(column + 1, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash ^= hash >>> 13
  return (hash >>> 0).toString(16).padStart(8, '0')
}
