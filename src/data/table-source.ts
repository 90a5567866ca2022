/** @file Tables with named columns as sources: a byte range or a gzip of CSV, a row group of Parquet. */
import type { Slot } from './batch.ts'
import { type ColumnsOptions, columnSources } from './column-spec.ts'
import { createCsvSource } from './csv-source.ts'
import { createParquetSource } from './parquet-source.ts'
import type { Chunk } from './plan.ts'
import { createRowWriter } from './row-writer.ts'
import type { Source } from './text-source.ts'

export interface TableSources {
  csv(chunk: Chunk): Source
  parquet(chunk: Chunk): Source
}

export function createTableSources(
  slots: readonly Slot[],
  onBadLine: 'error' | 'skip',
  options: ColumnsOptions = {},
): TableSources {
  const sources = columnSources(slots, options.columns)
  const writer = createRowWriter(slots, sources)
  return { csv: createCsvSource(writer, { ...options, onBadLine }), parquet: createParquetSource(writer) }
}
