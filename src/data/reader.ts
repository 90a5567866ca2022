/** @file One pass over the input: hands chunks to the threads and turns what they parse into batches, in number order. */
import type { TextFormat } from '../base/kernel/index.ts'
import { deriveSeed, fromPlainError } from '../base/util/index.ts'
import { type Batch, type BufferPool, releaseBatch, releaseSamples } from './batch.ts'
import { type Batcher, createBatcher } from './batcher.ts'
import { createDealer, type Dealer } from './deal.ts'
import { filesToRead } from './files.ts'
import type { FromReaderThread, ToReaderThread } from './messages.ts'
import { pipeChanged } from './pipes/pipe-errors.ts'
import { blockOf, type Chunk, type InputKind, joinChunks, planChunks, sizeOf } from './plan.ts'
import type { BatchReader, BegunChunk, ReadOptions } from './read-options.ts'
import { detectFormat } from './text/head.ts'
import type { Sequences } from './user/rec-dataset.ts'

export type { BatchReader, BegunChunk, ReadOptions } from './read-options.ts'

/** Who listens to the threads at the moment. */
export interface ThreadListener {
  message(message: FromReaderThread): void
  failed(error: Error): void
}

export interface ReaderThreads {
  readonly count: number
  post(thread: number, message: ToReaderThread): void
  /** Drops every chunk of a read, of which the commands are killed. */
  cancel(read: number): void
  /** Gives messages to one listener at a time; threads keep the process alive while there is one. */
  listen(listener: ThreadListener): void
  unlisten(): void
}

/** What a pass shares with the others of its pool. */
export interface ReaderContext {
  readonly read: number
  readonly threads: ReaderThreads
  readonly buffers: BufferPool
  readonly input: InputKind
  /** What was said already: undeclared slots, how a reader is given its files. */
  readonly noticed: Set<string>
  /** A user's reader is given all files of this process at once. @default false */
  readonly together?: boolean | undefined
}

type ChunkMessage = FromReaderThread | { readonly kind: 'failed'; readonly error: Error } | { readonly kind: 'closed' }

/** Chunks in flight: one that is parsed and one that waits for each thread, two parsed ahead of the consumer. */
const chunksInFlight = (threads: number) => 2 * threads + 2
const TOGETHER =
  'are given to the Python reader at once, as PaddleRec does, so one process reads: it is not seen to give samples file by file. If it does, runner.reader_files: each lets several processes read.'
/** Of those that others could read as well, fewer are taken ahead. */
const claimedAhead = (threads: number) => threads + 1

export class Reader implements BatchReader {
  readonly totalBytes: number
  readonly #options: ReadOptions
  readonly #context: ReaderContext
  /** None for a reader of all files at once, which reads its part. */
  readonly #claim: ReadOptions['claim']
  /** Of all workers. */
  readonly #plan: readonly Chunk[]
  /** This reader's own, in its order; with `claim`, those claimed so far. */
  readonly #chunks: Chunk[]
  /** Messages of chunks in flight, by chunk number. */
  readonly #inFlight = new Map<number, { messages: ChunkMessage[]; wake: () => void }>()
  readonly #dealer: Dealer
  #nextChunk: number
  /** Settles when every chunk asked for so far was handed to a thread. */
  #dispatched: Promise<void> = Promise.resolve()
  #format: TextFormat = 'slot'
  #skipped = 0
  readonly #sequences = { all: 0, cut: 0, most: 0 }
  #state: 'open' | 'iterating' | 'closed' = 'open'
  #failure: Error | undefined
  readonly #started: Promise<void>

  constructor(options: ReadOptions, context: ReaderContext) {
    this.#options = options
    this.#context = context
    const { part, start, onNotice } = options
    this.#claim = context.together ? undefined : options.claim
    const files = filesToRead(options.files, onNotice)
    this.#plan = planChunks(files, context.input, options)
    const block = part ? blockOf(this.#plan, part) : this.#plan
    const joined = context.together && block.length > 1 ? [joinChunks(block)] : block
    if (joined.length < block.length) this.#noticeOnce(`All ${block.length} files`, TOGETHER)
    const own = joined.map((chunk, number) => ({ ...chunk, number }))
    const before = (options.claimed ?? []).map((place, number) => ({ ...this.#plan[place]!, number }))
    const isListed = this.#claim || (options.claimed && !context.together)
    this.#chunks = isListed ? before : own
    this.totalBytes = sizeOf(isListed && !this.#claim ? before : own)
    this.#nextChunk = start?.chunk ?? 0
    this.#dealer = createDealer(context.threads.count, context.input, (thread, chunk) => this.#give(thread, chunk))
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
    for (const number of this.#inFlight.keys()) this.#deliver(number, { kind: 'closed' })
  }

  /** Begins reading before the first batch is asked for. */
  async #start(files: readonly string[]): Promise<void> {
    const { format = 'auto' } = this.#options
    // A pipe prints MultiSlot text; other input than text has no text format.
    const found = this.#context.input === 'text' ? detectFormat : async () => 'multislot' as const
    this.#format = format === 'auto' ? await found(files) : format
    const ahead = (this.#claim ? claimedAhead : chunksInFlight)(this.#context.threads.count)
    for (let i = 0; i < ahead; i++) this.#dispatch()
  }

  /** One after the other, so that chunks are numbered in the order in which they were claimed. */
  #dispatch(idle = false): void {
    this.#dispatched = this.#dispatched.then(() => this.#handOut(idle))
    this.#dispatched.catch(() => undefined) // thrown by whoever waits for the chunk
  }

  async #handOut(idle: boolean): Promise<void> {
    if (this.#state === 'closed') return
    const isClaimed = this.#nextChunk < this.#chunks.length
    const place = isClaimed ? undefined : await this.#claim?.(idle, this.#plan.length)
    if (place !== undefined) this.#chunks.push({ ...this.#plan[place]!, number: this.#chunks.length })
    const chunk = this.#chunks[this.#nextChunk]
    if (!chunk || this.#isClosed()) return
    this.#nextChunk++
    this.#inFlight.set(chunk.number, { messages: [], wake: () => {} })
    this.#dealer.add(chunk)
  }

  #give(thread: number, chunk: Chunk): void {
    const { read, threads, buffers } = this.#context
    threads.post(thread, {
      kind: 'chunk',
      read,
      chunk,
      format: this.#format,
      seed: this.#seedOf(chunk),
      buffer: buffers.take(),
    })
  }

  /** Whatever a reader draws depends on seed, epoch and chunk alone, not on threads. */
  #seedOf({ place }: Chunk): number {
    const { seed = 0, epoch } = this.#options
    return Number(deriveSeed(seed, `reader of epoch ${epoch}, chunk ${place}`) & 0x7fffffffn)
  }

  /** Asked after a wait: what was known before it may be over. */
  #isClosed(): boolean {
    return this.#state === 'closed'
  }

  #receive(message: FromReaderThread): void {
    if (message.read !== this.#context.read) return
    if (message.kind === 'part') this.#context.buffers.lend(message.parsed)
    else this.#dealer.done(message.chunk)
    this.#deliver(message.chunk, message)
  }

  #fail(error: Error): void {
    this.#failure = error
    for (const number of this.#inFlight.keys()) this.#deliver(number, { kind: 'failed', error })
  }

  /** To whoever waits for the chunk. */
  #deliver(chunk: number, message: ChunkMessage): void {
    const entry = this.#inFlight.get(chunk)!
    entry.messages.push(message)
    entry.wake()
  }

  async *#batches(): AsyncGenerator<Batch, void> {
    const { batchSize, epoch, start } = this.#options
    const batcher = createBatcher({ batchSize, epoch, firstIndex: start?.batch ?? 0, totalBytes: this.totalBytes })
    try {
      await this.#started
      const first = start?.chunk ?? 0
      let bytesBefore = sizeOf(this.#chunks.slice(0, first))
      for (let number = first; ; number++) {
        const chunk = await this.#chunkNumber(number)
        if (!chunk) break
        yield* this.#batchesOf(chunk, batcher, bytesBefore)
        bytesBefore += chunk.to - chunk.from
      }
      const last = batcher.finish()
      if (last && !this.#options.dropLast) yield last
      else if (last) {
        releaseBatch(last)
        this.#notice(`The last ${last.size} samples fill no batch of ${batchSize} and are left out.`)
      }
      if (this.#skipped > 0)
        this.#notice(`${this.#skipped} lines could not be parsed and were left out (runner.on_bad_line: skip).`)
      this.#noticeCuts()
    } finally {
      await this.close()
    }
  }

  /** Waits for it to be handed out; asks for more where all that was claimed is done. */
  async #chunkNumber(number: number): Promise<Chunk | undefined> {
    await this.#dispatched
    if (!this.#chunks[number] && this.#claim) {
      this.#dispatch(true)
      await this.#dispatched
    }
    return this.#state === 'closed' ? undefined : this.#chunks[number]
  }

  /** The batches that become whole with the samples of one chunk. */
  async *#batchesOf(chunk: Chunk, batcher: Batcher, bytesBefore: number): AsyncGenerator<Batch, void> {
    const { onLeading, onChunk } = this.#options
    const before = this.#before(chunk)
    const skip = before?.sample ?? 0
    let bytes = bytesBefore
    let sample = 0
    for await (const { parsed, leading, checksum, ...part } of this.#partsOf(chunk.number)) {
      if (leading) onLeading?.(leading)
      const skipHere = Math.min(parsed.samples, Math.max(0, skip - sample))
      releaseSamples(parsed, skipHere)
      // Compares what is left out with what was read before.
      if (skipHere > 0 && sample + skipHere === skip && before!.checksum !== undefined && before!.checksum !== checksum)
        throw pipeChanged(chunk.file, skip)
      const place = { chunk: chunk.number, firstSample: sample, bytesBefore: bytes }
      yield* batcher.add({ ...place, parsed, skip: skipHere, bytes: part.bytes, checksum })
      sample += parsed.samples
      bytes += part.bytes
    }
    if (this.#state === 'closed') return
    if (sample < skip) throw pipeChanged(chunk.file, skip)
    for (const [i, place] of (chunk.places ?? [chunk.place]).entries())
      onChunk?.(place, this.#plan.length, i === 0 ? sample : 0)
  }

  /** What was read of it before: where the run was stopped, or by another one. */
  #before({ number, place }: Chunk): Pick<BegunChunk, 'sample' | 'checksum'> | undefined {
    const { start, begun } = this.#options
    return number === start?.chunk ? start : begun?.find((one) => one.place === place)
  }

  /** The parts of one chunk as they come; then its place in flight goes to the next chunk. */
  async *#partsOf(number: number): AsyncGenerator<Extract<FromReaderThread, { kind: 'part' }>, void> {
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
      this.#countSequences(message.sequences)
      for (const name of message.ignored) this.#noticeIgnored(name)
      yield message
      const entry = this.#inFlight.get(number)!
      if (entry.messages.some(({ kind }) => kind === 'end')) continue
      threads.post(this.#dealer.threadOf(number), { kind: 'consumed', read, chunk: number, buffer: buffers.take() })
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

  #countSequences({ all, cut, most }: Sequences = { all: 0, cut: 0, most: 0 }): void {
    const own = this.#sequences
    own.all += all
    own.cut += cut
    own.most = Math.max(own.most, most)
  }

  #noticeCuts(): void {
    const { all, cut, most } = this.#sequences
    if (cut > 0)
      this.#noticeOnce(
        'Of the sequences,',
        `${cut} of ${all} are longer than ${most}: the last ${most} of each are read, what came before is left out. A larger length in hyper_parameters reads more of them.`,
      )
  }

  #noticeIgnored(name: string): void {
    this.#noticeOnce(`The data has a slot "${name}"`, 'that is not declared: it is left out.')
  }

  /** Once a pool. */
  #noticeOnce(what: string, message: string): void {
    const { noticed } = this.#context
    if (noticed.has(what)) return
    noticed.add(what)
    this.#notice(`${what} ${message}`)
  }

  #notice(message: string): void {
    this.#options.onNotice?.(message)
  }
}
