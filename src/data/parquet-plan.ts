/** @file The row groups of a Parquet file, from its footer: each is a chunk of its own. */
import { closeSync, openSync, readSync } from 'node:fs'
import { type FileMetaData, parquetMetadata } from 'hyparquet'
import { isRemotePath } from '../fs/index.ts'
import { UserError } from '../util/index.ts'

export interface RowGroup {
  readonly rowGroup: number
  /** Its share of the file's bytes. */
  readonly from: number
  readonly to: number
}

/** Magic and the footer's length, at the end of the file. */
const TAIL_BYTES = 8

/** Row groups in order; their shares cover the file. */
export function rowGroupsOf(file: string, bytes: number): readonly RowGroup[] {
  const groups = readMetadata(file, bytes).row_groups
  const sizes = groups.map((group) => Number(group.total_compressed_size ?? group.total_byte_size))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let before = 0
  return sizes.map((size, rowGroup) => {
    const from = share(before, total, bytes)
    before += size
    return { rowGroup, from, to: share(before, total, bytes) }
  })
}

export function readMetadata(file: string, bytes: number): FileMetaData {
  if (isRemotePath(file))
    throw new UserError('Parquet files are read from this machine only.', {
      code: 'DATA_PARQUET',
      where: { file },
      hint: 'Copy them here, or submit the job with train_data_path in backend.yaml, which puts them on the nodes.',
    })
  try {
    const tail = new DataView(readEnd(file, bytes, Math.min(bytes, TAIL_BYTES)))
    const length = tail.getUint32(0, true) + TAIL_BYTES
    return parquetMetadata(readEnd(file, bytes, Math.min(bytes, length)))
  } catch (cause) {
    throw new UserError(`The Parquet file cannot be read: ${(cause as Error).message}.`, {
      code: 'DATA_PARQUET',
      where: { file },
      hint: 'Check that it is a whole Parquet file; data_format: auto takes the ending .parquet for one.',
      cause,
    })
  }
}

function share(part: number, total: number, bytes: number): number {
  return total === 0 ? bytes : Math.round((bytes * part) / total)
}

function readEnd(file: string, bytes: number, length: number): ArrayBuffer {
  const buffer = new ArrayBuffer(length)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, new Uint8Array(buffer), 0, length, bytes - length)
  } finally {
    closeSync(handle)
  }
  return buffer
}
