/** @file The row groups of Parquet files, from their footers: each is a chunk of its own. */
import { closeSync, openSync, readSync } from 'node:fs'
import { getEnvironmentData } from 'node:worker_threads'
import { type AsyncBuffer, type FileMetaData, parquetMetadata, parquetMetadataAsync } from 'hyparquet'
import { anyFiles, isRemotePath, type ReadFile } from '../../base/fs/index.ts'
import { isUserError, shareWithThreads, UserError } from '../../base/util/index.ts'

export interface RowGroup {
  readonly rowGroup: number
  /** Its share of the file's bytes. */
  readonly from: number
  readonly to: number
}

/** Row groups in order; their shares cover the file. */
export function rowGroupsOf(file: string, bytes: number): readonly RowGroup[] {
  const sizes = isRemotePath(file) ? notedSizes(file) : groupSizes(readFooter(file, bytes))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let before = 0
  return sizes.map((size, rowGroup) => {
    const from = share(before, total, bytes)
    before += size
    return { rowGroup, from, to: share(before, total, bytes) }
  })
}

/** Plans are made at once, so what files far away hold is noted when they are listed. */
export async function noteRowGroups(files: readonly string[]): Promise<void> {
  const far = files.filter((file) => isRemotePath(file) && file.endsWith('.parquet') && !noted().has(file))
  if (far.length === 0) return
  const all = new Map(noted())
  const next = far.values()
  const some = async () => {
    for (const file of next) all.set(file, groupSizes(await footerFrom(file)))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, some))
  shareWithThreads(KEY, all)
}

/** Of an open file; `file` is its name. */
export async function readMetadata(file: string, opened: ReadFile): Promise<FileMetaData> {
  return await parquetMetadataAsync(asyncBuffer(opened)).catch((cause: unknown) => {
    throw isUserError(cause) ? cause : unreadable(file, cause)
  })
}

export function asyncBuffer(file: ReadFile): AsyncBuffer {
  return {
    byteLength: file.bytes,
    slice: async (start, end = file.bytes) => {
      const bytes = new Uint8Array(end - start)
      await file.read(bytes, start)
      return bytes.buffer
    },
  }
}

const KEY = 'oarfish row groups'
const AT_ONCE = 8

/** Sizes of row groups by address. */
const noted = () => (getEnvironmentData(KEY) as ReadonlyMap<string, readonly number[]> | undefined) ?? new Map()

function notedSizes(file: string): readonly number[] {
  const sizes = noted().get(file)
  if (sizes) return sizes
  throw new UserError('Parquet that lies far away is known by its name.', {
    code: 'DATA_PARQUET',
    where: { file },
    hint: 'Let the names of the files end in .parquet.',
  })
}

async function footerFrom(file: string): Promise<FileMetaData> {
  const opened = await anyFiles.open(file)
  try {
    return await readMetadata(file, opened)
  } finally {
    await opened.close()
  }
}

const groupSizes = ({ row_groups }: FileMetaData) =>
  row_groups.map((group) => Number(group.total_compressed_size ?? group.total_byte_size))

/** Magic and the footer's length, at the end of the file. */
const TAIL_BYTES = 8

function readFooter(file: string, bytes: number): FileMetaData {
  try {
    const tail = new DataView(readEnd(file, bytes, Math.min(bytes, TAIL_BYTES)))
    const length = tail.getUint32(0, true) + TAIL_BYTES
    return parquetMetadata(readEnd(file, bytes, Math.min(bytes, length)))
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

const unreadable = (file: string, cause: unknown) =>
  new UserError(`The Parquet file cannot be read: ${(cause as Error).message}.`, {
    code: 'DATA_PARQUET',
    where: { file },
    hint: 'Check that it is a whole Parquet file; data_format: auto takes the ending .parquet for one.',
    cause,
  })

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
