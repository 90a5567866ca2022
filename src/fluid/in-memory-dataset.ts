/** @file InMemoryDataset: all samples loaded first, to be shuffled. */
import {
  type Batch,
  type BatchReader,
  type Exchange,
  InMemoryDataset as MemoryDataset,
  measureFiles,
  type ReaderPool,
} from '../data/index.ts'
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
    this.#loading.catch(() => undefined) // told by waitPreloadDone
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
