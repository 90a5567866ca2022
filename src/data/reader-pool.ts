/** @file Reader threads that serve one pass after another: epochs, and evaluation between them. */
import { setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { builtFile, startThread, UserError } from '../base/util/index.ts'
import { createBufferPool, type Slot } from './batch.ts'
import { baseSlots } from './features/columns.ts'
import type { FromReaderThread, ReaderSettings, ReaderThreadData, ToReaderThread } from './messages.ts'
import { killTree } from './pipes/pipe.ts'
import { type FifoFolder, makeFifos, wakeReader } from './pipes/pipe-output.ts'
import {
  createNote,
  endReads,
  hasProcesses,
  notedProcess,
  type ProcessNote,
  residentProcess,
} from './pipes/process-note.ts'
import type { InputKind } from './plan.ts'
import { type BatchReader, Reader, type ReaderThreads, type ReadOptions, type ThreadListener } from './reader.ts'
import { columnSources } from './tables/column-spec.ts'

export interface ReaderPoolOptions extends ReaderSettings {
  readonly threads: number
  /** Reads tables with columns instead of text. */
  readonly table?: 'csv' | 'parquet' | undefined
}

export interface ReaderPool {
  /** Starts a pass. One at a time: the pass before must have ended or been closed. */
  read(options: ReadOptions): BatchReader
  /** Begins to load what the next pass will read, beside the pass under way. @default nothing is loaded before its pass */
  prefetch?(options: ReadOptions): void
  close(): Promise<void>
}

export type ReaderOptions = ReaderPoolOptions & ReadOptions

/** Chunk buffers remembered for use again: those in flight, and as many with trainers. */
const buffersRemembered = (threads: number) => 8 * threads + 16

export function openReaderPool(options: ReaderPoolOptions): ReaderPool {
  const { slots, onBadLine, userReader, pipe, python, table, columns, leadingFields, padding, dropZeros } = options
  const input = inputKind(options)
  checkSlots(slots, input === 'text' || input === 'pipe')
  if (table) columnSources(baseSlots(slots), columns?.columns)
  // Field by field: callers' objects may hold functions too, which no thread can be given.
  const settings = { slots, onBadLine, userReader, pipe, python, columns, leadingFields, padding, dropZeros }
  const threads = new ReaderWorkers(options.threads, { ...settings, table: table !== undefined })
  const buffers = createBufferPool(buffersRemembered(threads.count))
  const noticed = new Set<string>()
  let read = 0
  return {
    read: (options) =>
      new Reader(options, { read: read++, threads, buffers, input, noticed, together: python?.together }),
    close: () => threads.close(),
  }
}

/** How files are read. */
export function inputKind({
  userReader,
  python,
  pipe,
  table,
}: Omit<ReaderPoolOptions, 'slots' | 'threads'>): InputKind {
  return userReader ? 'user' : python ? 'python' : pipe ? 'pipe' : (table ?? 'text')
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

/** Slots that no reader could fill as meant: names must differ and, in text, be without white space and colons. */
function checkSlots(slots: readonly Slot[], text: boolean): void {
  const bad = (message: string, hint: string) => new UserError(message, { code: 'DATA_SLOT', hint })
  const seen = new Set<string>()
  for (const slot of slots) {
    const { name } = slot
    if (seen.has(name)) throw bad(`Slot "${name}" is declared twice.`, 'Give each slot a name of its own.')
    seen.add(name)
    if (text && !/^[^\s:]+$/.test(name))
      throw bad(`Slot "${name}" cannot be named in text.`, 'Use a name without white space and colons.')
    if (slot.kind === 'dense' && !(Number.isSafeInteger(slot.width) && slot.width > 0))
      throw bad(`Slot "${name}" has ${slot.width} values.`, 'Declare how many values it has, 1 or more.')
  }
}

/** How long a killed process may take to end: one that hangs in the file system of a dead server never does. */
const LAST_SEEN_MS = 10_000

/** The threads of one pool: starts them, carries messages, reports the first that dies. */
class ReaderWorkers implements ReaderThreads {
  readonly #workers: readonly Worker[]
  /** The process that each thread runs at the moment. */
  readonly #processes: readonly ProcessNote[]
  readonly #fifos: FifoFolder | undefined
  readonly #atExit = () => {
    for (const note of this.#processes) endReads(note)
    this.#killProcesses()
    for (const note of this.#processes) killTree(residentProcess(note))
    this.#fifos?.remove()
  }
  #listener: ThreadListener | undefined
  #failure: Error | undefined
  #closing = false

  constructor(threads: number, settings: ReaderSettings & Pick<ReaderThreadData, 'table'>) {
    this.#processes = Array.from({ length: Math.max(1, threads) }, createNote)
    // Threads end with the process, what they started does not.
    const startsProcesses = settings.pipe !== undefined || settings.python !== undefined
    if (startsProcesses) process.on('exit', this.#atExit)
    this.#fifos = startsProcesses ? makeFifos(this.#processes.length) : undefined
    this.#workers = this.#processes.map((note, i) => {
      const own: ReaderThreadData = { ...settings, process: note, fifos: this.#fifos?.paths[i] }
      const worker = startThread(builtFile('data/reader-thread'), own, { execArgv: [], name: `reader-${i}` })
      worker.on('message', (message: FromReaderThread) => this.#listener?.message(message))
      worker.on('messageerror', (error) => this.#fail(error))
      worker.on('error', (error) => this.#fail(error instanceof Error ? error : new Error(String(error))))
      worker.on('exit', (code) => this.#fail(new Error(`Reader thread ${i} stopped unexpectedly (exit code ${code}).`)))
      worker.unref()
      return worker
    })
  }

  get count(): number {
    return this.#workers.length
  }

  post(thread: number, message: ToReaderThread): void {
    this.#workers[thread]!.postMessage(message)
  }

  cancel(read: number): void {
    for (const note of this.#processes) endReads(note, read)
    for (let thread = 0; thread < this.count; thread++) this.post(thread, { kind: 'cancel', read })
    this.#killProcesses()
  }

  listen(listener: ThreadListener): void {
    if (this.#listener) throw new Error('internal: a reader pool reads one input at a time; close the reader before')
    this.#listener = listener
    for (const worker of this.#workers) worker.ref()
    if (this.#failure) listener.failed(this.#failure)
  }

  unlisten(): void {
    this.#listener = undefined
    for (const worker of this.#workers) worker.unref()
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#listener?.failed(new Error('The reader pool was closed while its input was being read.'))
    await this.#endProcesses()
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
    this.#atExit()
    process.off('exit', this.#atExit)
  }

  /** Kills what the threads run and waits until they have seen it: a process that nobody waits for stays as a zombie. */
  async #endProcesses(): Promise<void> {
    for (const note of this.#processes) endReads(note)
    this.#killProcesses()
    for (const note of this.#processes) killTree(residentProcess(note))
    const until = performance.now() + LAST_SEEN_MS
    while (this.#processes.some(hasProcesses) && performance.now() < until) await setTimeout(10)
  }

  /** A thread waits until its command's output is closed, which what the command has left behind may hold open. */
  #killProcesses(): void {
    for (const [i, note] of this.#processes.entries()) {
      const pid = notedProcess(note)
      if (pid === 0) continue
      killTree(pid)
      if (this.#fifos) wakeReader(this.#fifos.paths[i]!.output)
    }
  }

  #fail(error: Error): void {
    if (this.#closing || this.#failure) return
    this.#failure = error
    this.#listener?.failed(error)
  }
}
