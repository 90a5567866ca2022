/** @file Reader threads that serve one pass after another: epochs, and evaluation between them. */
import type { Slot } from './batch.ts'
import { createBufferPool } from './buffer-pool.ts'
import { checkSlots } from './check-slots.ts'
import { type ColumnsOptions, columnSources } from './column-spec.ts'
import type { UserReaderOptions } from './messages.ts'
import type { PipeOptions } from './pipe.ts'
import { type BatchReader, Reader, type ReadOptions } from './reader.ts'
import { ReaderThreads } from './reader-threads.ts'

export interface ReaderPoolOptions {
  readonly slots: readonly Slot[]
  readonly threads: number
  /** @default 'error' */
  readonly onBadLine?: 'error' | 'skip'
  /** Reads the files with the user's own RecDataset instead of as text. */
  readonly userReader?: UserReaderOptions
  /** Reads what this command prints for each file, one process at a time for each thread. */
  readonly pipe?: PipeOptions
  /** Reads tables with columns instead of text. */
  readonly table?: 'csv' | 'parquet'
  /** Which columns fill which slot. @default the columns of the slots' names */
  readonly columns?: ColumnsOptions
  /** Texts before the slots of a line of MultiSlot text: an instance id, then content. @default 0 */
  readonly leadingFields?: number
  /** The value of a slot that a line of slot text does not have: a whole number. @default 0 */
  readonly padding?: number
  /** As InMemoryDataset: sign 0 is dropped, and a slot left empty has the single sign 0. @default false */
  readonly dropZeros?: boolean
}

export interface ReaderPool {
  /** Starts a pass. One at a time: the pass before must have ended or been closed. */
  read(options: ReadOptions): BatchReader
  close(): Promise<void>
}

export type ReaderOptions = ReaderPoolOptions & ReadOptions

/** Chunk buffers remembered for use again: those in flight, and as many with trainers. */
const buffersRemembered = (threads: number) => 8 * threads + 16

export function openReaderPool(options: ReaderPoolOptions): ReaderPool {
  const {
    slots,
    threads,
    onBadLine = 'error',
    userReader,
    pipe,
    table,
    columns,
    leadingFields,
    padding,
    dropZeros,
  } = options
  const input = userReader ? 'user' : pipe ? 'pipe' : (table ?? 'text')
  checkSlots(slots, input !== 'text' && input !== 'pipe')
  if (table) columnSources(slots, columns?.columns)
  const workers = new ReaderThreads(threads, {
    slots,
    onBadLine,
    ...(userReader && { userReader }),
    ...(pipe && { pipe }),
    ...(columns && { columns }),
    ...(leadingFields !== undefined && { leadingFields }),
    ...(padding !== undefined && { padding }),
    ...(dropZeros !== undefined && { dropZeros }),
  })
  const buffers = createBufferPool(buffersRemembered(workers.count))
  const ignored = new Set<string>()
  let read = 0
  return {
    read: (options) => new Reader(options, { read: read++, threads: workers, buffers, input, ignored }),
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

/** For one of several processes: where there are fewer files than processes it takes part without samples. */
export function allowNoFiles(pool: ReaderPool): ReaderPool {
  const nothing: BatchReader = {
    totalBytes: 0,
    close: async () => undefined,
    async *[Symbol.asyncIterator]() {},
  }
  return { ...pool, read: (options) => (options.files.length === 0 ? nothing : pool.read(options)) }
}
