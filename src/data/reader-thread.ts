/** @file A reader thread: takes chunks in order, parses them and sends parts, at most PARTS_AHEAD ahead of the consumer. */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { isUserError, threadSettings, toPlainError, UserError } from '../base/util/index.ts'
import { type Columns, packColumns, type Shape, shapeOf } from './batch.ts'
import { dropZeros } from './columns.ts'
import { fromText, textSlots, withCrosses } from './features/columns.ts'
import { textEncoding } from './features/text-encoding.ts'
import type { FromReaderThread, ReaderThreadData, ToReaderThread } from './messages.ts'
import { killTree } from './pipes/pipe.ts'
import { createPipeSource } from './pipes/pipe-source.ts'
import { notedProcess } from './pipes/process-note.ts'
import { createPythonSource } from './python/python-source.ts'
import { createTableSources, type TableSources } from './tables/table-source.ts'
import { createTextSources, type Source } from './text/text-source.ts'
import { createUserSource } from './user/user-source.ts'

/** Parts of a chunk that a thread may be ahead of its consumer. */
const PARTS_AHEAD = 4
/**
 * A Python reader may be as many bytes ahead besides: samples are consumed file by file, and while one thread's file is, the others go on
 * with theirs only as far as this lets them.
 */
const PYTHON_AHEAD_BYTES = 64 * 1024 * 1024

type ChunkJob = Extract<ToReaderThread, { kind: 'chunk' }>
type OpenSource = (job: ChunkJob) => Source

interface Running {
  readonly job: ChunkJob
  /** Bytes of each part that was sent and is not yet consumed. */
  readonly ahead: number[]
  cancelled: boolean
  wake: () => void
}

class ReaderThread {
  readonly #port: MessagePort
  readonly #settings: ReaderThreadData
  readonly #shape: Shape
  readonly #open: OpenSource
  readonly #convert: (columns: Columns) => Columns
  readonly #jobs: ChunkJob[] = []
  readonly #buffers: SharedArrayBuffer[] = []
  #running: Running | undefined

  constructor(port: MessagePort, settings: ReaderThreadData) {
    this.#port = port
    this.#settings = settings
    this.#shape = shapeOf(settings.slots)
    this.#open = sourcesOf(settings)
    this.#convert = converterOf(settings)
    port.on('message', (message: ToReaderThread) => this.#receive(message))
  }

  #receive(message: ToReaderThread): void {
    if (message.kind !== 'cancel' && message.buffer) this.#buffers.push(message.buffer)
    const running = this.#running
    if (message.kind === 'chunk') {
      this.#jobs.push(message)
      this.#next()
    } else if (message.kind === 'cancel') {
      this.#jobs.splice(0, this.#jobs.length, ...this.#jobs.filter((job) => job.read !== message.read))
      if (running?.job.read !== message.read) return
      running.cancelled = true
      // A source that waits for a process would not see the cancel: its end wakes it.
      killTree(notedProcess(this.#settings.process))
      running.wake()
    } else if (running?.job.read === message.read && running.job.chunk.number === message.chunk) {
      running.ahead.shift()
      running.wake()
    }
  }

  #next(): void {
    const job = this.#running ? undefined : this.#jobs.shift()
    if (!job) return
    const running = { job, ahead: [], cancelled: false, wake: () => {} }
    this.#running = running
    // setImmediate: messages that came meanwhile (a cancel, a buffer) are seen before the chunk starts.
    setImmediate(() => {
      void this.#run(running).finally(() => {
        this.#running = undefined
        this.#next()
      })
    })
  }

  async #run(running: Running): Promise<void> {
    const { read, chunk } = running.job
    const shape = this.#shape
    try {
      for await (const { columns, ...part } of this.#open(running.job)) {
        if (running.cancelled) return
        const whole = inFile(chunk.file, () => this.#convert(columns))
        const kept = this.#settings.dropZeros ? dropZeros(whole, shape.sparseSlots) : whole
        const parsed = packColumns(kept, shape, this.#buffers.pop())
        this.#send({ kind: 'part', read, chunk: chunk.number, parsed, ...part })
        running.ahead.push(bytesOf(kept))
        while (isFarAhead(running) && !running.cancelled) {
          await new Promise<void>((resolve) => {
            running.wake = resolve
          })
        }
      }
      this.#send({ kind: 'end', read, chunk: chunk.number })
    } catch (error) {
      if (running.cancelled) return
      this.#send({ kind: 'end', read, chunk: chunk.number, error: toPlainError(error) })
    }
  }

  #send(message: FromReaderThread): void {
    this.#port.postMessage(message)
  }
}

function isFarAhead({ ahead, job }: Running): boolean {
  const room = job.chunk.kind === 'python' ? PYTHON_AHEAD_BYTES : 0
  return ahead.length >= PARTS_AHEAD && ahead.reduce((sum, bytes) => sum + bytes, 0) >= room
}

function bytesOf({ counts, starts, signs, dense }: Columns): number {
  return [counts, starts, signs, ...dense].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/** What is wrong with samples that were read is said of their file. */
function inFile<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!isUserError(error) || error.where) throw error
    throw new UserError(error.message, { code: error.code, hint: error.hint, where: { file }, cause: error })
  }
}

/** The kernel of text makes features itself, and so do readers of tables and of users; Python gives raw numbers. */
function converterOf({ slots, python }: ReaderThreadData): (columns: Columns) => Columns {
  if (!python) return (columns) => columns
  const [encode, cross] = [fromText(slots), withCrosses(slots)]
  return (columns) => cross(encode(columns))
}

/** Opens chunks of whatever kind the settings lead to. */
function sourcesOf(own: ReaderThreadData): OpenSource {
  const { userReader, pipe, python, table: isTable } = own
  const settings = { ...own, slots: userReader || isTable ? own.slots : textSlots(own.slots) }
  if (userReader) {
    const user = createUserSource({ slots: settings.slots, userReader })
    return ({ chunk, seed }) => user(chunk, seed)
  }
  if (python) return createPythonSource({ ...settings, python })
  const text = createTextSources({ ...settings, encoding: textEncoding(own.slots) })
  const piped = pipe && createPipeSource(text, { ...settings, pipe })
  let tables: TableSources | undefined
  const table = async function* ({ chunk }: ChunkJob): Source {
    tables ??= createTableSources(settings)
    yield* tables[chunk.kind === 'parquet' ? 'parquet' : 'csv'](chunk)
  }
  const open: Readonly<Record<ChunkJob['chunk']['kind'], OpenSource>> = {
    range: ({ chunk, format }) => text.range(chunk, format),
    gzip: ({ chunk, format }) => text.gzip(chunk, format),
    pipe: ({ chunk, format, read }) => piped!(chunk, format, read),
    csv: table,
    parquet: table,
    user: withoutSettings,
    python: withoutSettings,
  }
  return (job) => open[job.chunk.kind](job)
}

function withoutSettings(): never {
  throw new Error('internal: a user reader without its settings')
}

new ReaderThread(parentPort!, threadSettings<ReaderThreadData>())
