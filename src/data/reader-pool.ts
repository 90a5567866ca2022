/** @file Reader threads that serve one pass after another: epochs, and evaluation between them. */
import type { Slot } from './batch.ts'
import { createBufferPool } from './buffer-pool.ts'
import { checkSlots } from './check-slots.ts'
import type { UserReaderOptions } from './messages.ts'
import { type BatchReader, Reader, type ReadOptions } from './reader.ts'
import { ReaderThreads } from './reader-threads.ts'

export interface ReaderPoolOptions {
  readonly slots: readonly Slot[]
  readonly threads: number
  /** @default 'error' */
  readonly onBadLine?: 'error' | 'skip'
  /** Reads the files with the user's own RecDataset instead of as text. */
  readonly userReader?: UserReaderOptions
}

export interface ReaderPool {
  /** Starts a pass. One at a time: the pass before must have ended or been closed. */
  read(options: ReadOptions): BatchReader
  close(): Promise<void>
}

export type ReaderOptions = ReaderPoolOptions & ReadOptions

/** Chunk buffers remembered for use again: those in flight, and as many with trainers. */
const buffersRemembered = (threads: number) => 8 * threads + 16

export function openReaderPool({ slots, threads, onBadLine = 'error', userReader }: ReaderPoolOptions): ReaderPool {
  checkSlots(slots, userReader !== undefined)
  const workers = new ReaderThreads(threads, { slots, onBadLine, ...(userReader && { userReader }) })
  const buffers = createBufferPool(buffersRemembered(workers.count))
  const ignored = new Set<string>()
  let read = 0
  return {
    read: (options) =>
      new Reader(options, {
        read: read++,
        threads: workers,
        buffers,
        userReader: userReader !== undefined,
        ignored,
      }),
    close: () => workers.close(),
  }
}

/** A single pass with threads of its own. */
export function openReader(options: ReaderOptions): BatchReader {
  const pool = openReaderPool(options)
  try {
    const reader = pool.read(options)
    return {
      totalBytes: reader.totalBytes,
      close: async () => {
        await reader.close()
        await pool.close()
      },
      [Symbol.asyncIterator]: () => closing(reader, pool),
    }
  } catch (error) {
    void pool.close()
    throw error
  }
}

async function* closing(reader: BatchReader, pool: ReaderPool) {
  try {
    yield* reader
  } finally {
    await pool.close()
  }
}
