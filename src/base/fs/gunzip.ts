/** @file The content of a file as a stream, gzip unpacked. */
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { FileSystem } from './file-system.ts'

export interface GunzipPiece {
  readonly data: Uint8Array
  /** Compressed bytes taken in so far. */
  readonly compressedBytes: number
}

const READ_BYTES = 256 * 1024
const PIECE_BYTES = 256 * 1024

/** The content piece by piece; zlib inflates on Node's thread pool meanwhile. Throws zlib's error when the file is cut off or damaged. */
export async function* gunzipFile(files: FileSystem, path: string): AsyncGenerator<GunzipPiece> {
  const gunzip = createGunzip({ chunkSize: PIECE_BYTES })
  // A failure of either side shows in the iteration; leaving it early destroys both.
  pipeline(Readable.from(blocks(files, path), { objectMode: false }), gunzip, () => {})
  for await (const data of gunzip) yield { data, compressedBytes: gunzip.bytesWritten }
}

/** The content of a file, unpacked where its name ends in .gz. */
export async function* contentOf(files: FileSystem, path: string): AsyncGenerator<Uint8Array> {
  if (!path.endsWith('.gz')) return yield* blocks(files, path)
  for await (const { data } of gunzipFile(files, path)) yield data
}

async function* blocks(files: FileSystem, path: string): AsyncGenerator<Uint8Array> {
  const file = await files.open(path)
  try {
    for (let position = 0; ; ) {
      const block = Buffer.allocUnsafe(READ_BYTES)
      const bytes = await file.read(block, position)
      if (bytes === 0) return
      position += bytes
      yield block.subarray(0, bytes)
    }
  } finally {
    await file.close()
  }
}
