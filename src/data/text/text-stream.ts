/** @file Bytes that come one after another, as something to fill buffers from: pieces of any size, a gzip file. */
import { anyFiles, gunzipFile } from '../../base/fs/index.ts'
import { UserError } from '../../base/util/index.ts'

export interface ByteSource {
  /** Fills the beginning of `into`; returns how many bytes came, 0 only at the end. */
  read(into: Uint8Array): Promise<number>
}

/** Text of an input that is streamed, such as a gzip file or what a command prints. */
export interface TextStream extends ByteSource {
  /** Bytes of the input (compressed, for gzip) that are read so far. */
  inputBytes(): number
}

/** Pieces of any size as a source; leaving it early ends them. */
export function fromPieces(pieces: AsyncIterable<Uint8Array>): ByteSource & { leave(): Promise<void> } {
  const iterator = pieces[Symbol.asyncIterator]()
  let left: Uint8Array = new Uint8Array()
  return {
    read: async (into) => {
      while (left.length === 0) {
        const { value, done } = await iterator.next()
        if (done) return 0
        left = value
      }
      const bytes = Math.min(left.length, into.length)
      into.set(left.subarray(0, bytes))
      left = left.subarray(bytes)
      return bytes
    },
    leave: async () => void (await iterator.return?.()),
  }
}

/** The text of a gzip file. */
export function gunzipped(file: string): TextStream & { leave(): Promise<void> } {
  let compressed = 0
  const pieces = async function* () {
    try {
      for await (const { data, compressedBytes } of gunzipFile(anyFiles, file)) {
        compressed = compressedBytes
        yield data
      }
    } catch (cause) {
      throw damagedGzip(cause, file)
    }
  }
  return { ...fromPieces(pieces()), inputBytes: () => compressed }
}

/** zlib's error in words; any other as it is. */
export function damagedGzip(cause: unknown, file: string): unknown {
  if (!/^Z_/.test((cause as NodeJS.ErrnoException).code ?? '')) return cause
  return new UserError(`The gzip file is damaged or cut off: ${(cause as Error).message}.`, {
    code: 'DATA_GZIP',
    where: { file },
    hint: `Test it with gzip -t ${file}, then copy or write it again.`,
    cause,
  })
}
