/** @file `fluid.DatasetFactory`: datasets by name, their settings, and where their batches come from. */
import { availableParallelism } from 'node:os'
import {
  type Batch,
  type BatchReader,
  type Exchange,
  InMemoryDataset as MemoryDataset,
  measureFiles,
  openReaderPool,
  pipeCommand,
  type ReaderPool,
  type ReaderPoolOptions,
  type Slot,
} from '../data/index.ts'
import { UserError } from '../util/index.ts'
import { RemoteCopies } from './remote-copies.ts'
import { slotsOf } from './traced.ts'
import type { Variable } from './variable.ts'

/** Files read as they are streamed to the trainer, or all at once into memory. */
export abstract class Dataset {
  #useVar: readonly Variable[] = []
  #pipe = 'cat'
  #batchSize = 1
  #thread = 1
  #files: readonly string[] = []
  #insId = false
  #content = false
  readonly #told = new Set<number>()
  readonly #remote = new RemoteCopies()

  /** The data that a line holds, in its order. */
  setUseVar(variables: readonly Variable[]): void {
    const wrong = variables.find(({ source }) => source.kind !== 'data')
    if (wrong) throw failed(`"${wrong.name}" is not data`, 'pass what fluid.layers.data returned')
    this.#useVar = variables
  }

  /** A shell command: raw lines of a file on its stdin, MultiSlot text on its stdout. @default cat */
  setPipeCommand(command: string): void {
    this.#pipe = command
  }

  setBatchSize(batchSize: number): void {
    this.#batchSize = whole('setBatchSize', batchSize)
  }

  setThread(thread: number): void {
    this.#thread = whole('setThread', thread)
  }

  setFilelist(files: readonly string[]): void {
    this.#files = [...files]
  }

  /** Files of the list lie in this file system: `hdfs://HOST:PORT` and `user,password`. They are fetched before they are read. */
  setHdfsConfig(fsName: string, fsUgi: string): void {
    this.#remote.from(fsName, fsUgi)
  }

  /** A shell command that prints the file it is given. */
  setDownloadCmd(command: string): void {
    this.#remote.by(command)
  }

  /** Lines begin with `1 {instance id}`. */
  setParseInsId(parse: boolean): void {
    this.#insId = parse
  }

  /** Lines have `1 {content}` before their slots. */
  setParseContent(parse: boolean): void {
    this.#content = parse
  }

  get useVar(): readonly Variable[] {
    return this.#useVar
  }

  get files(): readonly string[] {
    return this.#files
  }

  /** The files as they lie on this host. */
  localFiles(): Promise<readonly string[]> {
    return this.#remote.fetch(this.#files)
  }

  get batchSize(): number {
    return this.#batchSize
  }

  get thread(): number {
    return this.#thread
  }

  /** Threads that find something to read. */
  get threadLimit(): number {
    return Number.POSITIVE_INFINITY
  }

  /** True the first time, so that the same is not told every epoch. */
  tellThreads(asked: number): boolean {
    const first = !this.#told.has(asked)
    this.#told.add(asked)
    return first
  }

  /** Equal while open readers still read as they should. */
  settings(): string {
    return JSON.stringify([
      this.#pipe,
      this.#batchSize,
      this.#insId,
      this.#content,
      this.#useVar.map(({ name }) => name),
    ])
  }

  /** Where batches come from. */
  abstract open(slots: readonly Slot[]): Promise<ReaderPool>

  protected readerOptions(slots: readonly Slot[]): ReaderPoolOptions {
    if (slots.length === 0) throw failed('the dataset does not know its data', 'dataset.setUseVar([x, y])')
    const piped = this.#pipe.trim() !== 'cat'
    const [cores, dir] = [availableParallelism(), process.cwd()]
    // A command is a process of its own and mostly slower than the trainer: as many at once as were asked for.
    const threads = piped ? Math.min(this.#thread, this.#files.length, 2 * cores) : Math.min(4, cores - this.#thread)
    return {
      slots,
      threads: Math.max(1, threads),
      ...(piped && { pipe: pipeCommand({ command: this.#pipe, dir, cwd: dir }) }),
    }
  }

  protected get leading() {
    return { parseInsId: this.#insId, parseContent: this.#content }
  }
}

/** Streams: every file is read once a pass, in the order of the list. */
export class QueueDataset extends Dataset {
  #pool: { readonly key: string; readonly pool: ReaderPool } | undefined

  override get threadLimit(): number {
    return Math.max(1, this.files.length)
  }

  localShuffle(): never {
    throw noShuffle('local')
  }

  globalShuffle(): never {
    throw noShuffle('global')
  }

  override async open(slots: readonly Slot[]): Promise<ReaderPool> {
    const key = this.settings()
    if (this.#pool?.key === key) return this.#pool.pool
    await this.#pool?.pool.close()
    const { parseInsId, parseContent } = this.leading
    const leadingFields = Number(parseInsId) + Number(parseContent)
    const pool = openReaderPool({ ...this.readerOptions(slots), leadingFields })
    this.#pool = { key, pool }
    return pool
  }
}

/** The workers of a job, as `fleet` knows them. */
export interface Workers {
  /** Undefined in a process that trains alone. */
  exchange(): Exchange | undefined
  readonly util: { allReduce(own: number): Promise<number> }
}

/** Everything in memory, so that samples can be shuffled. */
export class InMemoryDataset extends Dataset {
  #memory: MemoryDataset | undefined
  #loading: Promise<void> | undefined

  async loadIntoMemory(): Promise<void> {
    await this.#memory?.close()
    const { batchSize } = this
    const files = await this.localFiles()
    this.#memory = new MemoryDataset({ ...this.readerOptions(slotsOf(this.useVar)), ...this.leading, batchSize, files })
    await this.#memory.loadIntoMemory()
  }

  /** Begins to load; waitPreloadDone waits for it. */
  preloadIntoMemory(): void {
    this.#loading = this.loadIntoMemory()
    this.#loading.catch(() => undefined) // told by waitPreloadDone
  }

  async waitPreloadDone(): Promise<void> {
    if (!this.#loading) throw failed('nothing is being loaded', 'dataset.preloadIntoMemory()')
    await this.#loading
  }

  /** Another order, drawn from the number of the shuffle. */
  localShuffle(): void {
    this.#loaded().localShuffle()
  }

  /** Every sample goes to a worker drawn at random, then each shuffles what it has. All workers call it. */
  async globalShuffle(fleet?: Workers): Promise<void> {
    await this.#loaded().globalShuffle(undefined, fleet?.exchange())
  }

  releaseMemory(): void {
    this.#memory?.releaseMemory()
    this.#memory = undefined
  }

  /** Samples in memory, of all workers where `fleet` is given. */
  getMemoryDataSize(): number
  getMemoryDataSize(fleet: Workers): Promise<number>
  getMemoryDataSize(fleet?: Workers): number | Promise<number> {
    const own = this.#memory?.memoryDataSize ?? 0
    return fleet ? fleet.util.allReduce(own) : own
  }

  /** Samples after a global shuffle. */
  getShuffleDataSize(): number
  getShuffleDataSize(fleet: Workers): Promise<number>
  getShuffleDataSize(fleet?: Workers): number | Promise<number> {
    const own = this.#memory?.shuffleDataSize ?? 0
    return fleet ? fleet.util.allReduce(own) : own
  }

  override async open(): Promise<ReaderPool> {
    return {
      read: ({ files, epoch }): BatchReader => {
        const loaded = this.#loaded()
        const totalBytes = measureFiles(files).reduce((sum, { bytes }) => sum + bytes, 0)
        const batches = async function* (): AsyncGenerator<Batch, void> {
          yield* loaded.batches({ epoch })
        }
        return { totalBytes, close: async () => undefined, [Symbol.asyncIterator]: batches }
      },
      close: async () => undefined,
    }
  }

  #loaded(): MemoryDataset {
    if (this.#memory) return this.#memory
    throw failed('nothing is in memory', 'await dataset.loadIntoMemory()')
  }
}

const CLASSES: Readonly<Record<string, new () => Dataset>> = { QueueDataset, InMemoryDataset }

export type DatasetName = 'QueueDataset' | 'InMemoryDataset'
interface DatasetOf {
  readonly QueueDataset: QueueDataset
  readonly InMemoryDataset: InMemoryDataset
}

export class DatasetFactory {
  createDataset<Name extends DatasetName = 'QueueDataset'>(name: Name = 'QueueDataset' as Name): DatasetOf[Name] {
    const Class = CLASSES[name]
    if (!Class) throw failed(`datafeed class ${name} does not exist`, `use one of ${Object.keys(CLASSES).join(', ')}`)
    return new Class() as DatasetOf[Name]
  }
}

function noShuffle(kind: 'local' | 'global'): UserError {
  return failed(
    `QueueDataset does not support ${kind} shuffle, please use InMemoryDataset for ${kind}_shuffle`,
    "new fluid.DatasetFactory().createDataset('InMemoryDataset')",
  )
}

function whole(setter: string, value: number): number {
  if (Number.isInteger(value) && value > 0) return value
  throw failed(`${setter}(${value}): expected a whole number above 0`, `${setter}(1)`)
}

function failed(message: string, hint: string): UserError {
  return new UserError(message, { code: 'FLUID_DATASET', hint })
}
