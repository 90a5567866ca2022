/** @file A row group of a Parquet file as a source. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { type AsyncBuffer, type Compressors, type FileMetaData, parquetRead, parquetSchema } from 'hyparquet'
import { anyFiles } from '../../base/fs/index.ts'
import { isUserError, UserError } from '../../base/util/index.ts'
import type { Chunk } from '../plan.ts'
import type { Source } from '../text/text-source.ts'
import { noColumn } from './column-spec.ts'
import { asyncBuffer, readMetadata } from './parquet-plan.ts'
import type { CellColumn, RowWriter } from './row-writer.ts'

export function createParquetSource(writer: RowWriter): (chunk: Chunk) => Source {
  // Of the file that was read last: most chunks are of the same one.
  let known: { readonly file: string; readonly bytes: number; readonly metadata: FileMetaData } | undefined
  return async function* (chunk) {
    const { file, rowGroup = 0 } = chunk
    const opened = await anyFiles.open(file)
    let row = 0
    try {
      const { bytes } = opened
      if (known?.file !== file || known.bytes !== bytes)
        known = { file, bytes, metadata: await readMetadata(file, opened) }
      const { metadata } = known
      checkColumns(file, writer.columns, columnNames(metadata))
      const rows = metadata.row_groups.map(({ num_rows }) => Number(num_rows))
      row = rows.slice(0, rowGroup).reduce((sum, count) => sum + count, 0)
      const [first, count] = [row, rows[rowGroup]!]
      const columns = await readColumns(asyncBuffer(opened), metadata, writer.columns, first, count)
      for (let i = 0; i < count; i++) {
        row++
        writer.addFrom(columns, i)
        if (writer.full) yield writer.take(0)
      }
    } catch (error) {
      yield writer.take(0)
      throw rowError(error, file, row)
    } finally {
      await opened.close()
    }
    yield writer.take(chunk.to - chunk.from)
  }
}

/** The values of each column for `count` rows from `first` on. */
async function readColumns(
  file: AsyncBuffer,
  metadata: FileMetaData,
  names: readonly string[],
  first: number,
  count: number,
): Promise<readonly CellColumn[]> {
  const columns = names.map((): Pieces => [])
  await parquetRead({
    file,
    metadata,
    columns: [...names],
    rowStart: first,
    rowEnd: first + count,
    compressors: COMPRESSORS,
    utf8: true,
    onChunk: ({ columnName, columnData, rowStart }) => {
      columns[names.indexOf(columnName)]!.push({ at: rowStart - first, values: columnData })
    },
  })
  return columns.map((pieces) => joined(pieces, count))
}

type Pieces = { readonly at: number; readonly values: ArrayLike<unknown> }[]

/** Typed arrays of one kind stay such; anything else becomes a plain array. */
function joined(pieces: Pieces, count: number): CellColumn {
  const of = TYPED.find((kind) => pieces.length > 0 && pieces.every(({ values }) => values instanceof kind))
  const values = of ? new of(count) : new Array<unknown>(count)
  for (const { at, values: some } of pieces) {
    const most = Math.min(some.length, count - at)
    if (ArrayBuffer.isView(values)) values.set((some as Float64Array).subarray(0, most) as never, at)
    else for (let i = 0; i < most; i++) values[at + i] = some[i]
  }
  const isLong = values instanceof BigInt64Array || values instanceof BigUint64Array
  return { values, words: isLong ? new Uint32Array(values.buffer) : undefined }
}

const TYPED = [BigInt64Array, BigUint64Array, Float32Array, Float64Array, Int32Array, Uint32Array] as const

/** Snappy comes with the reader of the format; the rest is Node's. */
const COMPRESSORS: Compressors = {
  // No more than the page says: a bomb fails at once.
  GZIP: (input, bytes) => new Uint8Array(gunzipSync(input, { maxOutputLength: most(bytes) })),
  BROTLI: (input, bytes) => new Uint8Array(brotliDecompressSync(input, { maxOutputLength: most(bytes) })),
}

const MOST_PAGE_BYTES = 256 * 1024 * 1024

function most(bytes: number): number {
  if (bytes > MOST_PAGE_BYTES) throw new Error(`a page of ${bytes} bytes, of which ${MOST_PAGE_BYTES} are the most`)
  return Math.max(1, bytes)
}

function columnNames(metadata: FileMetaData): readonly string[] {
  return parquetSchema(metadata).children.map(({ element }) => element.name)
}

function checkColumns(file: string, wanted: readonly string[], known: readonly string[]): void {
  const missing = wanted.find((name) => !known.includes(name))
  if (missing !== undefined) throw noColumn(missing, known, { file })
}

function rowError(error: unknown, file: string, row: number): unknown {
  if (isUserError(error)) {
    if (error.where) return error
    const { message, code, hint = 'Rows count from 1.' } = error
    return new UserError(`Row ${row}: ${message}`, { code, where: { file }, hint, cause: error })
  }
  return new UserError(`The Parquet file cannot be read: ${(error as Error).message}.`, {
    code: 'DATA_PARQUET',
    where: { file },
    hint: 'Oarfish reads uncompressed, Snappy, GZIP and Brotli pages; write it again with one of these.',
    cause: error,
  })
}
