/** @file `fluid.dataset.uciHousing`: prices of houses from 13 numbers about them, from a file of the UCI repository's form. */
import { readFileSync } from 'node:fs'
import { UserError } from '../../base/util/index.ts'
import type { Reader } from './reader.ts'

/** 13 features and the price. */
export type HousingSample = readonly [features: Float32Array, price: Float32Array]

const COLUMNS = 14
const TRAIN_SHARE = 0.8

/** The first four fifths are to train on, the rest to test on; features are scaled over all of the file. */
export function uciHousing({ file }: { readonly file: string }): {
  readonly train: () => Reader<HousingSample>
  readonly test: () => Reader<HousingSample>
} {
  const samples = scaled(rowsOf(file))
  const cut = Math.floor(samples.length * TRAIN_SHARE)
  return { train: () => () => samples.slice(0, cut), test: () => () => samples.slice(cut) }
}

function rowsOf(file: string): number[][] {
  const numbers = textOf(file).trim().split(/\s+/).map(Number)
  const bad = numbers.findIndex(Number.isNaN)
  if (bad >= 0 || numbers.length % COLUMNS > 0 || numbers.length < COLUMNS)
    throw new UserError(
      bad >= 0
        ? `row ${Math.floor(bad / COLUMNS) + 1} has a value that is not a number`
        : `it holds ${numbers.length} numbers, not rows of ${COLUMNS}`,
      {
        code: 'FLUID_DATASET',
        where: { file },
        hint: 'give housing.data of the UCI repository: 13 features and the price in each row',
      },
    )
  return Array.from({ length: numbers.length / COLUMNS }, (_, i) => numbers.slice(i * COLUMNS, (i + 1) * COLUMNS))
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UserError('there is no such file', {
      code: 'FLUID_DATASET',
      where: { file },
      cause,
      hint: "fluid.dataset.uciHousing({ file: 'data/housing.data' })",
    })
  }
}

/** (value - mean) / (max - min), column by column. */
function scaled(rows: readonly number[][]): HousingSample[] {
  const stats = Array.from({ length: COLUMNS - 1 }, (_, c) => {
    const column = rows.map((row) => row[c]!)
    const mean = column.reduce((sum, value) => sum + value, 0) / column.length
    return { mean, range: Math.max(...column) - Math.min(...column) || 1 }
  })
  return rows.map((row) => {
    const features = stats.map(({ mean, range }, c) => (row[c]! - mean) / range)
    return [Float32Array.from(features), Float32Array.of(row[COLUMNS - 1]!)]
  })
}
