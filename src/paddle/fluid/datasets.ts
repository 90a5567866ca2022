/** @file Datasets by name: files streamed to the trainer, or all samples loaded first, to be shuffled. */

import type { UserError } from '../../base/util/index.ts'
import {
  type Batch,
  type BatchReader,
  type Exchange,
  InMemoryDataset as MemoryDataset,
  measureFiles,
  openReaderPool,
  type ReaderPool,
  type Slot,
} from '../../data/index.ts'
import { Dataset, datasetError } from './dataset.ts'
import { slotsOf } from './traced.ts'

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
    this.#loading.catch(() => undefined) // waitPreloadDone throws it
  }

  async waitPreloadDone(): Promise<void> {
    if (!this.#loading) throw datasetError('nothing is being loaded', 'dataset.preloadIntoMemory()')
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
    throw datasetError('nothing is in memory', 'await dataset.loadIntoMemory()')
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

function noShuffle(kind: 'local' | 'global'): UserError {
  return datasetError(
    `QueueDataset does not support ${kind} shuffle, please use InMemoryDataset for ${kind}_shuffle`,
    "new fluid.DatasetFactory().createDataset('InMemoryDataset')",
  )
}

const CLASSES: Readonly<Record<string, new () => Dataset>> = { QueueDataset, InMemoryDataset }

/** A dataset that DatasetFactory makes. */
export type DatasetName = 'QueueDataset' | 'InMemoryDataset'
interface DatasetOf {
  readonly QueueDataset: QueueDataset
  readonly InMemoryDataset: InMemoryDataset
}

/** Makes datasets by name. */
export class DatasetFactory {
  createDataset<Name extends DatasetName = 'QueueDataset'>(name: Name = 'QueueDataset' as Name): DatasetOf[Name] {
    const Class = CLASSES[name]
    if (!Class)
      throw datasetError(`datafeed class ${name} does not exist`, `use one of ${Object.keys(CLASSES).join(', ')}`)
    return new Class() as DatasetOf[Name]
  }
}
