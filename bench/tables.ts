/** @file The benchmark's rows as CSV and Parquet, made from MultiSlot text. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetWriteBuffer } from 'hyparquet-writer'

const SPARSE = Array.from({ length: 26 }, (_, i) => String(i + 1))
const DENSE = Array.from({ length: 13 }, (_, i) => `I${i + 1}`)

/** `runner.columns` of these files. */
export const COLUMNS = { click: 'label', dense_feature: DENSE }

/** Writes every file of `from` in the other form, once. */
export function writeTables(from: string, to: string, form: 'csv' | 'parquet'): void {
  mkdirSync(to, { recursive: true })
  for (const file of readdirSync(from)) {
    const path = join(to, `${file}.${form}`)
    if (existsSync(path)) continue
    const rows = readFileSync(join(from, file), 'utf8').trimEnd().split('\n').map(cellsOf)
    writeFileSync(path, form === 'csv' ? csvText(rows) : parquetBytes(rows))
  }
}

/** Label, 26 signs, 13 values: every slot has one value but the last. */
function cellsOf(line: string): readonly string[] {
  const words = line.split(' ')
  const singles = Array.from({ length: 27 }, (_, i) => words[2 * i + 1]!)
  return [...singles, ...words.slice(2 * 27 + 1)]
}

function csvText(rows: readonly (readonly string[])[]): string {
  return [['label', ...SPARSE, ...DENSE], ...rows].map((row) => `${row.join(',')}\n`).join('')
}

function parquetBytes(rows: readonly (readonly string[])[]): Uint8Array {
  const column = (name: string, i: number) => ({
    name,
    data: rows.map((row) => (i < 27 ? BigInt(row[i]!) : Number(row[i]))),
    type: i < 27 ? ('INT64' as const) : ('FLOAT' as const),
  })
  const columnData = ['label', ...SPARSE, ...DENSE].map(column)
  return new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: 10_000 }))
}
