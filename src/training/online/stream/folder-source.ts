/** @file A folder that grows, with files that appear or are appended to, as a stream: a partition is a file, a place is a byte behind a line. Here, on HDFS or S3. */
import { join } from 'node:path'
import { anyFiles, createFile } from '../../../base/fs/index.ts'
import { isUserError, UserError } from '../../../base/util/index.ts'
import type { Parts, Reach, StreamSource } from './source.ts'

const BLOCK_BYTES = 1 << 20
const NEWLINE = 10
const COMPRESSED = /\.(gz|bz2|zst|zip|xz|lz4|snappy)$/

export function watchFolder(folders: readonly string[]): StreamSource {
  return {
    unit: 'bytes',
    start: async () => ({}),
    look: async (from, most) => {
      const files = (await Promise.all(folders.map(listed))).flat()
      const left = files.filter((file) => COMPRESSED.test(file))
      const parts: Record<string, [number, number]> = {}
      let [records, rest] = [0, 0]
      for (const file of files.filter((name) => !COMPRESSED.test(name))) {
        const begin = from[file] ?? 0
        const size = sizeOf(file)
        if (size === undefined || size === begin) continue
        if (size < begin) throw shorter(file, size, begin)
        const found = records < most ? await lines(file, begin, size, most - records) : { records: 0, end: begin }
        records += found.records
        if (found.end > begin) parts[file] = [begin, found.end]
        // Behind the last whole line there may be one that is being written: it is not there yet.
        if (records >= most) rest += size - found.end
      }
      const warning = left.length > 0 ? `compressed files of a watched folder are left out: ${left[0]}` : undefined
      return { parts, records, rest, warning } satisfies Reach
    },
    write: writeRanges,
    close: async () => undefined,
  }
}

async function listed(folder: string): Promise<readonly string[]> {
  try {
    const files = await anyFiles.list(folder)
    return files.filter((file) => !/(^|\/)[._][^/]*$/.test(file))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || (isUserError(error) && error.code === 'FS_NOT_FOUND')) return []
    throw error
  }
}

/** Of one that went since it was listed nothing more is taken. */
function sizeOf(file: string): number | undefined {
  try {
    return anyFiles.size(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Whole lines from a byte on, and where the last of them ends. */
async function lines(path: string, begin: number, size: number, most: number) {
  let [records, end] = [0, begin]
  for await (const { block, at } of blocks(path, begin, size))
    for (let i = block.indexOf(NEWLINE); i >= 0 && records < most; i = block.indexOf(NEWLINE, i + 1)) {
      records++
      end = at + i + 1
    }
  return { records, end }
}

async function* blocks(path: string, begin: number, end: number) {
  const file = await anyFiles.open(path)
  try {
    for (let at = begin; at < end; ) {
      const block = Buffer.alloc(Math.min(BLOCK_BYTES, end - at))
      const got = await file.read(block, at)
      if (got === 0) return
      yield { block: block.subarray(0, got), at }
      at += got
    }
  } finally {
    await file.close()
  }
}

async function writeRanges(parts: Parts, folder: string): Promise<void> {
  for (const [i, path] of Object.keys(parts).sort().entries()) {
    const [begin, end] = parts[path]!
    const out = await createFile(join(folder, `part-${String(i).padStart(5, '0')}`))
    let got = 0
    try {
      for await (const { block } of blocks(path, begin, end)) {
        got += block.length
        await out.write(block)
      }
    } finally {
      await out.close()
    }
    if (got < end - begin) throw shorter(path, begin + got, end)
  }
}

const shorter = (path: string, bytes: number, wanted: number) =>
  new UserError(`it has ${bytes} bytes, and ${wanted} were there before: a file of a watched folder may only grow`, {
    code: 'STREAM_GONE',
    where: { file: path },
    hint: 'put the file back as it was, or write what is new into another file',
  })
