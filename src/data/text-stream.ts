/** @file Bytes that come one after another, as something to fill buffers from. */

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
