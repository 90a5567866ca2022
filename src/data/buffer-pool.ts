/** @file Chunk buffers used again. V8 does not count shared memory when it decides to collect, so garbage would pile up. */
import type { ParsedChunk } from './batch.ts'
import { isReleased } from './lease.ts'

export interface BufferPool {
  /** Remembers a chunk that was handed out. */
  lend(chunk: ParsedChunk): void
  /** A buffer whose samples were all released. */
  take(): SharedArrayBuffer | undefined
}

/** Remembers `limit` chunks at most: those a consumer never releases are forgotten and left to the garbage collector. */
export function createBufferPool(limit: number): BufferPool {
  const lent: ParsedChunk[] = []
  return {
    lend: (chunk) => {
      lent.push(chunk)
      if (lent.length > limit) lent.shift()
    },
    take: () => {
      const free = lent.findIndex(isReleased)
      return free < 0 ? undefined : lent.splice(free, 1)[0]!.signs.buffer
    },
  }
}
