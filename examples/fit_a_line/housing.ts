/** @file Rows of UCI housing: numbers between white space, one of the columns the price, the others scaled to about -1 to 1. */
import { readFileSync } from 'node:fs'
import { BaseRecDataset, type Sample, z } from 'oarfish'

/** What the reader takes from the yaml. */
export interface HousingConfig {
  readonly runner: { readonly custom: unknown }
}

const options = z.strictObject({
  /** The column of the price, from 0; negative numbers count from the last one. */
  targetColumn: z.int().default(-1),
})

/** The first four fifths of a file are to train on, the rest to test on, as everybody divides this data. */
const TRAIN_SHARE = 0.8

/** A reader of one part of each file. Scaling takes the whole file into account, so that both parts are scaled alike. */
export class HousingDataset extends BaseRecDataset<HousingConfig> {
  *samplesOf(part: 'train' | 'test'): Generator<Sample> {
    const { targetColumn } = options.parse(this.config.runner.custom)
    for (const file of this.fileList) {
      const rows = readRows(file)
      const target = columnOf(targetColumn, rows[0]?.length ?? 0)
      const features = scaled(rows.map((row) => row.toSpliced(target, 1)))
      const cut = Math.round(rows.length * TRAIN_SHARE)
      const [from, to] = part === 'train' ? [0, cut] : [cut, rows.length]
      for (let i = from; i < to; i++) yield { x: features[i]!, y: rows[i]![target]! }
    }
  }
}

function readRows(file: string): number[][] {
  const lines = readFileSync(file, 'utf8').split('\n')
  const rows: number[][] = []
  for (const [i, line] of lines.entries()) {
    if (line.trim() === '') continue
    const row = line.trim().split(/\s+/).map(Number)
    const width = rows[0]?.length ?? row.length
    if (row.some(Number.isNaN)) throw new Error(`${file}:${i + 1} has a column that is not a number`)
    if (row.length !== width) throw new Error(`${file}:${i + 1} has ${row.length} columns, the first row has ${width}`)
    rows.push(row)
  }
  return rows
}

function columnOf(targetColumn: number, columns: number): number {
  const column = targetColumn < 0 ? columns + targetColumn : targetColumn
  if (column >= 0 && column < columns) return column
  throw new Error(`runner.custom.targetColumn is ${targetColumn}, but the data has ${columns} columns`)
}

/** (value - mean) / (max - min), column by column. */
function scaled(rows: readonly number[][]): number[][] {
  const stats = (rows[0] ?? []).map((_, c) => {
    const column = rows.map((row) => row[c]!)
    const mean = column.reduce((sum, value) => sum + value, 0) / column.length
    return { mean, range: Math.max(...column) - Math.min(...column) || 1 }
  })
  return rows.map((row) => row.map((value, c) => (value - stats[c]!.mean) / stats[c]!.range))
}
