/** @file Records of a file as they are, before any feature: what a client that has them would send to a server, by field. */
import { hashText } from '../base/util/index.ts'
import type { Columns, Slot } from './batch.ts'
import { batchColumns } from './columns.ts'
import { baseSlots, textSlots } from './features/columns.ts'
import { rawName } from './features/encode.ts'
import { measureFiles } from './files.ts'
import { planChunks } from './plan.ts'
import { inputKind, openReader, type ReaderPoolOptions } from './reader-pool.ts'
import { type ColumnSource, columnSources } from './tables/column-spec.ts'
import { createCsvSource } from './tables/csv-source.ts'
import { createParquetSource } from './tables/parquet-source.ts'
import { cellText, createRowWriter, type RowWriter } from './tables/row-writer.ts'
import type { Sample, SampleValue } from './user/rec-dataset.ts'
import { loadRecDataset } from './user/user-source.ts'

/** Values by raw field; ids above 2^53 are bigints or text. */
export type RawRecord = Readonly<Record<string, SampleValue>>

export interface RawRecordsOptions extends Omit<ReaderPoolOptions, 'threads'> {
  readonly file: string
  /** At most. */
  readonly rows: number
}

/** The first records of a file that is not plain text, through the reader of training but without its features. */
export async function readRawRecords(options: RawRecordsOptions): Promise<readonly RawRecord[]> {
  const kind = inputKind(options)
  if (kind === 'user') return await userRecords(options)
  return kind === 'csv' || kind === 'parquet' ? await tableRecords(kind, options) : await numberRecords(options)
}

async function userRecords({ userReader, slots, file, rows }: RawRecordsOptions): Promise<readonly RawRecord[]> {
  const names = baseSlots(slots).map(rawName)
  const byName = (sample: Sample): RawRecord =>
    Array.isArray(sample) ? Object.fromEntries(names.map((name, i) => [name, sample[i]])) : (sample as RawRecord)
  const records: RawRecord[] = []
  const dataset = new (await loadRecDataset(userReader!))([file], userReader!.config)
  for await (const sample of dataset) {
    records.push(byName(sample))
    if (records.length === rows) break
  }
  return records
}

/** What pipes and Python give is numbers: the raw ones are read in place of what features make of them. */
async function numberRecords({ slots, file, rows, ...reader }: RawRecordsOptions): Promise<readonly RawRecord[]> {
  const raw = textSlots(slots)
  for await (const batch of openReader({ ...reader, slots: raw, threads: 1, files: [file], batchSize: rows, epoch: 0 }))
    return recordsOf(raw, batchColumns(raw, batch))
  return []
}

/** Columns as records by slot. */
export function recordsOf(slots: readonly Slot[], { samples, counts, signs, dense }: Columns): readonly RawRecord[] {
  const sparse = slots.filter(({ kind }) => kind === 'sparse').length
  let first = 0
  return Array.from({ length: samples }, (_, i) => {
    let [s, d] = [0, 0]
    const fields = slots.map((slot) => {
      if (slot.kind === 'dense') return [slot.name, [...dense[d++]!.subarray(i * slot.width, (i + 1) * slot.width)]]
      const count = counts[i * sparse + s++]!
      first += count
      return [slot.name, [...signs.subarray(first - count, first)]]
    })
    return Object.fromEntries(fields)
  })
}

async function tableRecords(
  kind: 'csv' | 'parquet',
  { slots: all, columns = {}, onBadLine = 'error', file, rows }: RawRecordsOptions,
): Promise<readonly RawRecord[]> {
  const slots = baseSlots(all)
  const sources = columnSources(slots, columns.columns)
  const records: RawRecord[] = []
  const writer = createRowWriter(slots, sources)
  const place = new Map(writer.columns.map((name, i) => [name, i]))
  // A row that training would refuse or leave out is refused or left out here too.
  const keeping: RowWriter = {
    ...writer,
    add: (cells) => {
      writer.add(cells)
      const fields = slots.map(
        (slot, s) => [rawName(slot), valuesOf(slot, sources[s]!, (name) => cells[place.get(name)!])] as const,
      )
      records.push(Object.fromEntries(fields.filter(([, values]) => values.length > 0)))
    },
    addBytes: (line, bounds) => keeping.add(writer.columns.map((_, c) => cellText(line, bounds, c))),
    addFrom: (columns, row) => keeping.add(columns.map(({ values }) => values[row])),
    get full() {
      return writer.full || records.length >= rows
    },
  }
  const open = kind === 'csv' ? createCsvSource(keeping, { ...columns, onBadLine }) : createParquetSource(keeping)
  for (const chunk of planChunks(measureFiles([file]), kind, { epoch: 0 }))
    for await (const _ of open(chunk)) if (records.length >= rows) return records.slice(0, rows)
  return records
}

/** The cells of one slot as a request has them: lists are cut apart, dense text is numbers. */
function valuesOf(slot: Slot, { from, type, split }: ColumnSource, cellOf: (name: string) => unknown) {
  const items = (cell: unknown): readonly (string | number | bigint)[] => {
    if (cell === undefined || cell === null || cell === '') return slot.kind === 'dense' ? [0] : []
    if (typeof cell === 'boolean') return [Number(cell)]
    if (typeof cell === 'string' && split !== undefined && cell.includes(split)) return cell.split(split).flatMap(items)
    if (typeof cell === 'object') return Array.from(cell as ArrayLike<unknown>).flatMap(items)
    if (slot.kind === 'dense' && slot.dtype === 'float32') return [Number(cell)]
    return [!slot.feature && type === 'hash' ? hashText(`${slot.name}:${String(cell)}`) : (cell as string)]
  }
  return from.flatMap((name) => items(cellOf(name)))
}
