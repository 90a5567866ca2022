/** @file Tables with named columns as sources: a byte range or a gzip of CSV, a row group of Parquet. */
import { baseSlots } from '../features/columns.ts'
import type { ReaderSettings } from '../messages.ts'
import type { Chunk } from '../plan.ts'
import type { Source } from '../text/text-source.ts'
import { columnSources } from './column-spec.ts'
import { createCsvSource } from './csv-source.ts'
import { createParquetSource } from './parquet-source.ts'
import { createRowWriter } from './row-writer.ts'

export interface TableSources {
  csv(chunk: Chunk): Source
  parquet(chunk: Chunk): Source
}

export function createTableSources({
  slots,
  onBadLine = 'error',
  columns = {},
}: Pick<ReaderSettings, 'slots' | 'onBadLine' | 'columns'>): TableSources {
  const writer = createRowWriter(slots, columnSources(baseSlots(slots), columns.columns))
  return { csv: createCsvSource(writer, { ...columns, onBadLine }), parquet: createParquetSource(writer) }
}
