/** @file InMemoryDataset: all samples loaded once, shuffled by seed, given out as batches. */
import { defined, UserError } from '../../base/util/index.ts'
import type { Batch, Piece } from '../batch.ts'
import { pipeChanged } from '../pipes/pipe-errors.ts'
import type { ReadOptions } from '../reader.ts'
import { openReaderPool, type ReaderPool, type ReaderPoolOptions } from '../reader-pool.ts'
import { createChecksum } from './checksum.ts'
import { createSampleStore, drawnOrder, type SampleStore, type StoreView } from './sample-store.ts'
import { type ChunkRun, type Exchange, globalShuffle, spreadOrder } from './shuffles.ts'

/** Options of InMemoryDataset.init. */
export interface InMemoryDatasetOptions extends Omit<ReaderPoolOptions, 'dropZeros' | 'leadingFields'> {
  readonly files?: readonly string[] | undefined
  readonly format?: ReadOptions['format'] | undefined
  readonly batchSize: number
  /** Of every shuffle. @default 0 */
  readonly seed?: number | undefined
  /** Lines begin with `1 {instance id}`. @default false */
  readonly parseInsId?: boolean | undefined
  /** Lines have `1 {content}` before their slots. @default false */
  readonly parseContent?: boolean | undefined
  /** Sign 0 is one like any other. @default false: it is dropped, as Paddle drops it */
  readonly keepZeros?: boolean | undefined
  /** Allows slotsShuffle. @default false */
  readonly feaEval?: boolean | undefined
  readonly onNotice?: ((message: string) => void) | undefined
}

export interface BatchesOptions {
  /** @default 0 */
  readonly epoch?: number | undefined
  /** Goes on behind a batch's cursor. @default the beginning */
  readonly start?: ReadOptions['start'] | undefined
  /** @default as the data set was made with */
  readonly batchSize?: number | undefined
}

/** Samples read per batch while loading. */
const LOAD_BATCH = 4096

/** Samples of sparse slots lose their zeros; a slot left empty has the single sign 0. Close it when done. */
export class InMemoryDataset {
  readonly #options: InMemoryDatasetOptions
  readonly #pool: ReaderPool
  #files: readonly string[]
  #store: SampleStore | undefined
  #runs: ChunkRun[] = []
  #loading: Promise<void> | undefined
  #leading: (readonly string[])[] = []
  #order: Uint32Array | undefined
  #slotOrders: ReadonlyMap<string, Uint32Array> = new Map()
  #shuffles = 0

  constructor(options: InMemoryDatasetOptions) {
    this.#options = options
    this.#files = options.files ?? []
    const { parseInsId = false, parseContent = false, keepZeros = false } = options
    this.#pool = openReaderPool({
      ...options,
      dropZeros: !keepZeros,
      leadingFields: Number(parseInsId) + Number(parseContent),
    })
  }

  setFileList(files: readonly string[]): void {
    this.#files = files
  }

  /** Reads all files; what was loaded before is forgotten. */
  async loadIntoMemory(options: Partial<ReadOptions> = {}): Promise<void> {
    this.releaseMemory()
    const { slots, format = 'auto', onNotice } = this.#options
    const store = createSampleStore(slots)
    const reader = this.#pool.read({
      files: this.#files,
      format,
      epoch: 0,
      ...options,
      onNotice: options.onNotice ?? onNotice,
      batchSize: LOAD_BATCH,
      onChunk: (place, of, samples) => {
        this.#runs.push({ place, samples })
        options.onChunk?.(place, of, samples)
      },
      onLeading: (texts) => this.#leading.push(...texts),
    })
    for await (const batch of reader) store.add(batch)
    this.#store = store
  }

  /** Begins to load; waitPreloadDone() waits for it. */
  preloadIntoMemory(): void {
    this.#loading = this.loadIntoMemory()
    this.#loading.catch(() => undefined) // thrown by waitPreloadDone
  }

  async waitPreloadDone(): Promise<void> {
    if (!this.#loading) throw notLoaded('Call preloadIntoMemory() before.')
    await this.#loading
  }

  /** A new order, drawn from the seed and the number of the shuffle (one more each time unless given). */
  localShuffle(round: number = this.#shuffles): void {
    this.#order = drawnOrder(this.#loaded().samples, this.#options.seed ?? 0, `shuffle ${round}`)
    this.#shuffles = round + 1
  }

  /** As localShuffle, but with samples of all files in every stretch: see spreadOrder. Not after a global shuffle. */
  spreadShuffle(round: number): void {
    this.#loaded()
    this.#order = spreadOrder(this.#runs, this.#options.seed ?? 0, round)
  }

  /** Over all workers of `exchange`; a process that trains alone has all samples, so without it this is localShuffle. */
  async globalShuffle(round: number = this.#shuffles, exchange?: Exchange): Promise<void> {
    if (exchange && exchange.workers > 1) {
      const { slots, seed = 0 } = this.#options
      const samples = { store: this.#loaded(), leading: this.#leading }
      const shuffled = await globalShuffle({ ...samples, slots, seed, round, exchange })
      this.#store = shuffled.store
      this.#leading = shuffled.leading
      this.#slotOrders = new Map()
    }
    this.localShuffle(round)
  }

  /** Mixes the values of these slots among the samples, to see how much a model depends on them. Repeating it replaces it. */
  slotsShuffle(slots: readonly string[]): void {
    const { feaEval = false, seed = 0 } = this.#options
    if (!feaEval) throw notLoaded('slots_shuffle needs fea_eval: set feaEval: true.')
    const known = this.#options.slots.map(({ name }) => name)
    const unknown = slots.find((name) => !known.includes(name))
    if (unknown !== undefined) throw notLoaded(`There is no slot "${unknown}"; the slots are ${known.join(', ')}.`)
    const { samples } = this.#loaded()
    this.#slotOrders = new Map(slots.map((name) => [name, drawnOrder(samples, seed, `slot ${name}`)]))
  }

  releaseMemory(): void {
    this.#store = undefined
    this.#runs = []
    this.#leading = []
    this.#order = undefined
    this.#slotOrders = new Map()
  }

  get memoryDataSize(): number {
    return this.#store?.samples ?? 0
  }

  /** Samples after a global shuffle. */
  get shuffleDataSize(): number {
    return this.memoryDataSize
  }

  /** Instance ids in the order of the batches; empty without parseInsId. */
  get insIds(): readonly string[] {
    return this.#options.parseInsId ? this.#texts(0) : []
  }

  /** Contents in the order of the batches; empty without parseContent. */
  get contents(): readonly string[] {
    return this.#options.parseContent ? this.#texts(this.#options.parseInsId ? 1 : 0) : []
  }

  /** All samples as they were loaded; their memory is not used again while they are in memory. */
  pieces(): readonly Piece[] {
    const store = this.#loaded()
    return store.pieces(0, store.samples)
  }

  /** All samples once, in the order of the last shuffle. */
  *batches({
    epoch = 0,
    start = { chunk: 0, sample: 0 },
    batchSize = this.#options.batchSize,
  }: BatchesOptions = {}): Generator<Batch, void> {
    const { pipe } = this.#options
    const store = this.#loaded()
    const view = this.#view(store.samples)
    const checksum = createChecksum()
    const take = (from: number, to: number) => {
      const pieces = store.pieces(from, to, view)
      if (pipe) for (const piece of pieces) checksum.add(piece.chunk, piece.from, piece.to)
      return pieces
    }
    if (start.sample > 0 && start.checksum !== undefined) {
      if (start.sample <= store.samples) take(0, start.sample)
      if (start.checksum !== checksum.value) throw pipeChanged(this.#files[0]!, start.sample)
    }
    let index = start.batch ?? 0
    for (let from = start.sample; from < store.samples; from += batchSize) {
      const to = Math.min(store.samples, from + batchSize)
      const pieces = take(from, to)
      const cursor = defined({ chunk: 0, sample: to, checksum: pipe && checksum.value })
      yield { epoch, index: index++, size: to - from, pieces, cursor, fraction: to / store.samples }
    }
  }

  async close(): Promise<void> {
    this.releaseMemory()
    await this.#pool.close()
  }

  #view(samples: number): StoreView | undefined {
    if (!this.#order && this.#slotOrders.size === 0) return undefined
    const order = this.#order ?? Uint32Array.from({ length: samples }, (_, i) => i)
    return { order, slots: this.#slotOrders }
  }

  #texts(field: number): readonly string[] {
    const texts = this.#leading.map((fields) => fields[field] ?? '')
    return this.#order ? Array.from(this.#order, (sample) => texts[sample]!) : texts
  }

  #loaded(): SampleStore {
    if (this.#store) return this.#store
    throw notLoaded('No samples are in memory: call loadIntoMemory() before.')
  }
}

function notLoaded(message: string): UserError {
  return new UserError(message, { code: 'DATA_MEMORY' })
}
