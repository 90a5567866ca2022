/** @file One pass over the input: hands chunks to the threads and turns what they parse into batches, in number order. */
import type { TextFormat } from '../kernel/index.ts'
import { fromPlainError, UserError } from '../util/index.ts'
import { createAssembler } from './assemble.ts'
import type { Batch, Cursor } from './batch.ts'
import type { BufferPool } from './buffer-pool.ts'
import { detectFormat } from './detect.ts'
import { measureFiles } from './files.ts'
import { releaseBatch, releaseSamples } from './lease.ts'
import type { FromThread } from './messages.ts'
import { pipeChanged } from './pipe-errors.ts'
import { blockOf, CHUNK_BYTES, type Chunk, type InputKind, type Part, planChunks } from './plan.ts'
import type { ReaderThreads } from './reader-threads.ts'

export interface ReadOptions {
  readonly files: readonly string[]
  /** @default 'auto': by the first line of the first file */
  readonly format?: 'auto' | TextFormat
  readonly batchSize: number
  readonly epoch: number
  /** Chunks in an order drawn from (seed, epoch). @default false */
  readonly shuffle?: boolean
  /** @default 0 */
  readonly seed?: number
  /** Goes on behind a batch's cursor; `batch` is the index of the first batch then. @default the beginning */
  readonly start?: Cursor & { readonly batch?: number }
  /** Worth telling the user: an undeclared slot (once by name), an empty file, how many bad lines were skipped. */
  readonly onNotice?: (message: string) => void
  /** Reads only this worker's block of the chunks. @default all */
  readonly part?: Part
  /** A user's reader is given all files at once. @default false */
  readonly allFiles?: boolean
  /**
   * Asks which chunk to read next, by its place in the plan of all, instead of reading `part` in order; undefined: none now.
   * Asked again with `idle` once everything claimed so far is parsed; none then is the end.
   */
  readonly claim?: (idle: boolean, of: number) => Promise<number | undefined>
  /** Is told each chunk that was read to its end: its place in the plan of all, how many there are, and its samples. */
  readonly onChunk?: (place: number, of: number, samples: number) => void
  /** Is told the texts before the slots of each sample, part by part in order, where the data has them. */
  readonly onLeading?: (texts: readonly (readonly string[])[]) => void
  /** Leaves out the last batch where it is smaller than the others. @default false */
  readonly dropLast?: boolean
  /** Text per chunk. @default 1 MiB */
  readonly chunkBytes?: number
}

/** Batches of one pass. Reading begins at once: iterate it (once; leaving the loop closes it) or close it. */
export interface BatchReader extends AsyncIterable<Batch> {
  readonly totalBytes: number
  close(): Promise<void>
}

/** What a pass shares with the others of its pool. */
export interface ReaderContext {
  readonly read: number
  readonly threads: ReaderThreads
  readonly buffers: BufferPool
  readonly input: InputKind
  /** Undeclared slots already told. */
  readonly ignored: Set<string>
}

type ChunkMessage = FromThread | { readonly kind: 'failed'; readonly error: Error } | { readonly kind: 'closed' }

/** Chunks in flight: one that is parsed and one that waits for each thread, two parsed ahead of the consumer. */
const chunksInFlight = (threads: number) => 2 * threads + 2
/** Of those that others could read as well, fewer are taken ahead. */
const claimedAhead = (threads: number) => threads + 1

export class Reader implements BatchReader {
  readonly totalBytes: number
  readonly #options: ReadOptions
  readonly #context: ReaderContext
  /** Of all workers. */
  readonly #plan: readonly Chunk[]
  /** This reader's own, in its order; with `claim`, those claimed so far. */
  readonly #chunks: Chunk[]
  /** Messages of chunks in flight, by chunk number. */
  readonly #inFlight = new Map<number, { thread: number; messages: ChunkMessage[]; wake: () => void }>()
  readonly #load: number[]
  #nextChunk: number
  /** Settles when every chunk asked for so far was handed to a thread. */
  #dispatched: Promise<void> = Promise.resolve()
  #format: TextFormat = 'slot'
  #skipped = 0
  #state: 'open' | 'iterating' | 'closed' = 'open'
  #failure: Error | undefined
  readonly #started: Promise<void>

  constructor(options: ReadOptions, context: ReaderContext) {
    this.#options = options
    this.#context = context
    const { epoch, shuffle = false, seed = 0, chunkBytes = CHUNK_BYTES, part, onNotice } = options
    const measured = measureFiles(options.files)
    for (const { path, bytes } of measured) if (bytes === 0) onNotice?.(`${path} is empty.`)
    const files = measured.filter(({ bytes }) => bytes > 0)
    if (files.length === 0) throw nothingToRead(options.files)
    const { input } = context
    const plan = planChunks({ files, input, chunkBytes, shuffle, seed, epoch })
    this.#plan = options.allFiles ? [allOf(plan)] : plan
    const own = (part ? blockOf(this.#plan, part) : this.#plan).map((chunk, number) => ({ ...chunk, number }))
    this.#chunks = options.claim ? [] : own
    this.totalBytes = own.reduce((sum, { from, to }) => sum + to - from, 0)
    this.#nextChunk = options.start?.chunk ?? 0
    this.#load = new Array<number>(context.threads.count).fill(0)
    context.threads.listen({
      message: (message) => this.#receive(message),
      failed: (error) => this.#fail(error),
    })
    this.#started = this.#start(files.map(({ path }) => path))
  }

  [Symbol.asyncIterator](): AsyncIterator<Batch> {
    if (this.#state !== 'open') throw new Error('internal: a reader is iterated once')
    this.#state = 'iterating'
    return this.#batches()
  }

  async close(): Promise<void> {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    const { threads, read } = this.#context
    threads.cancel(read)
    threads.unlisten()
    for (const number of this.#inFlight.keys()) this.#tell(number, { kind: 'closed' })
  }

  /** Begins reading before the first batch is asked for. */
  async #start(files: readonly string[]): Promise<void> {
    const { format = 'auto' } = this.#options
    this.#format = format !== 'auto' ? format : await formatOfInput(this.#context.input, files)
    const ahead = (this.#options.claim ? claimedAhead : chunksInFlight)(this.#context.threads.count)
    for (let i = 0; i < ahead; i++) this.#dispatch()
  }

  /** One after the other, so that chunks are numbered in the order in which they were claimed. */
  #dispatch(idle = false): void {
    this.#dispatched = this.#dispatched.then(() => this.#handOut(idle))
    this.#dispatched.catch(() => undefined) // thrown by whoever waits for the chunk
  }

  async #handOut(idle: boolean): Promise<void> {
    if (this.#state === 'closed') return
    const place = await this.#options.claim?.(idle, this.#plan.length)
    if (place !== undefined) this.#chunks.push({ ...this.#plan[place]!, number: this.#chunks.length })
    const chunk = this.#chunks[this.#nextChunk]
    if (!chunk || this.#isClosed()) return
    this.#nextChunk++
    const thread = this.#load.indexOf(Math.min(...this.#load))
    this.#load[thread]!++
    this.#inFlight.set(chunk.number, { thread, messages: [], wake: () => {} })
    const { read, threads, buffers } = this.#context
    const buffer = buffers.take()
    threads.post(thread, { kind: 'chunk', read, chunk, format: this.#format, ...(buffer && { buffer }) })
  }

  /** Asked after a wait: what was known before it may be over. */
  #isClosed(): boolean {
    return this.#state === 'closed'
  }

  #receive(message: FromThread): void {
    if (message.read !== this.#context.read) return
    if (message.kind === 'part') this.#context.buffers.lend(message.parsed)
    else this.#load[this.#inFlight.get(message.chunk)!.thread]!--
    this.#tell(message.chunk, message)
  }

  #fail(error: Error): void {
    this.#failure = error
    for (const number of this.#inFlight.keys()) this.#tell(number, { kind: 'failed', error })
  }

  #tell(chunk: number, message: ChunkMessage): void {
    const entry = this.#inFlight.get(chunk)!
    entry.messages.push(message)
    entry.wake()
  }

  async *#batches(): AsyncGenerator<Batch, void> {
    const { batchSize, epoch, start } = this.#options
    const assembler = createAssembler({ batchSize, epoch, firstIndex: start?.batch ?? 0, totalBytes: this.totalBytes })
    try {
      await this.#started
      const first = start?.chunk ?? 0
      let bytesBefore = this.#chunks.slice(0, first).reduce((sum, { from, to }) => sum + to - from, 0)
      for (let number = first; ; number++) {
        const chunk = await this.#chunkNumber(number)
        if (!chunk) break
        let bytes = bytesBefore
        let sample = 0
        const skip = number === start?.chunk ? start.sample : 0
        for await (const part of this.#partsOf(chunk.number)) {
          const { parsed } = part
          if (part.leading) this.#options.onLeading?.(part.leading)
          const skipHere = Math.min(parsed.samples, Math.max(0, skip - sample))
          releaseSamples(parsed, skipHere)
          if (skipHere > 0 && sample + skipHere === skip) this.#verify(chunk, part.checksum)
          yield* assembler.add({
            chunk: chunk.number,
            parsed,
            firstSample: sample,
            skip: skipHere,
            bytesBefore: bytes,
            bytes: part.bytes,
            checksum: part.checksum,
          })
          sample += parsed.samples
          bytes += part.bytes
        }
        if (sample < skip && this.#state !== 'closed') throw pipeChanged(chunk.file, skip)
        if (this.#state !== 'closed') this.#options.onChunk?.(chunk.place, this.#plan.length, sample)
        bytesBefore += chunk.to - chunk.from
      }
      const last = assembler.finish()
      if (last && !this.#options.dropLast) yield last
      else if (last) {
        releaseBatch(last)
        this.#notice(`The last ${last.size} samples fill no batch of ${batchSize} and are left out.`)
      }
      if (this.#skipped > 0)
        this.#notice(`${this.#skipped} lines could not be parsed and were left out (runner.on_bad_line: skip).`)
    } finally {
      await this.close()
    }
  }

  /** Waits for it to be handed out; asks for more where all that was claimed is done. */
  async #chunkNumber(number: number): Promise<Chunk | undefined> {
    await this.#dispatched
    if (!this.#chunks[number] && this.#options.claim) {
      this.#dispatch(true)
      await this.#dispatched
    }
    return this.#state === 'closed' ? undefined : this.#chunks[number]
  }

  /** Compares what is left out with what was read before the run was stopped. */
  #verify({ file }: Chunk, checksum: number | undefined): void {
    const { start } = this.#options
    if (start?.checksum !== undefined && start.checksum !== checksum) throw pipeChanged(file, start.sample)
  }

  /** The parts of one chunk as they come; then its place in flight goes to the next chunk. */
  async *#partsOf(number: number): AsyncGenerator<Extract<FromThread, { kind: 'part' }>, void> {
    const { read, threads, buffers } = this.#context
    for (;;) {
      const message = await this.#nextMessage(number)
      if (message.kind === 'closed') return
      if (message.kind === 'failed') throw message.error
      if (message.kind === 'end') {
        if (message.error) throw fromPlainError(message.error)
        break
      }
      this.#skipped += message.skipped
      for (const name of message.ignored) this.#noticeIgnored(name)
      yield message
      const entry = this.#inFlight.get(number)!
      if (entry.messages.some(({ kind }) => kind === 'end')) continue
      const buffer = buffers.take()
      threads.post(entry.thread, { kind: 'consumed', read, chunk: number, ...(buffer && { buffer }) })
    }
    this.#inFlight.delete(number)
    this.#dispatch()
  }

  async #nextMessage(number: number): Promise<ChunkMessage> {
    const entry = this.#inFlight.get(number)
    if (this.#state === 'closed' || !entry) return { kind: 'closed' }
    if (entry.messages.length === 0) {
      if (this.#failure) throw this.#failure
      await new Promise<void>((resolve) => {
        entry.wake = resolve
      })
    }
    return entry.messages.shift()!
  }

  #noticeIgnored(name: string): void {
    if (this.#context.ignored.has(name)) return
    this.#context.ignored.add(name)
    this.#notice(`The data has a slot "${name}" that is not declared: it is left out.`)
  }

  #notice(message: string): void {
    this.#options.onNotice?.(message)
  }
}

/** A pipe prints MultiSlot text; other input than text has no text format. */
async function formatOfInput(input: InputKind, files: readonly string[]): Promise<TextFormat> {
  return input === 'text' ? await detectFormat(files) : 'multislot'
}

/** One chunk that is all of them. */
function allOf(plan: readonly Chunk[]): Chunk {
  const bytes = plan.reduce((sum, { from, to }) => sum + to - from, 0)
  return { ...plan[0]!, from: 0, to: bytes, files: plan.map(({ file }) => file) }
}

function nothingToRead(files: readonly string[]): UserError {
  const what = files.length === 0 ? 'There are no data files to read.' : `All ${files.length} data files are empty.`
  return new UserError(what, {
    code: 'DATA_EMPTY',
    ...(files[0] !== undefined && { where: { file: files[0] } }),
    hint: 'Set runner.train_data_dir (or runner.test_data_dir) to the folder that holds your data files.',
  })
}
