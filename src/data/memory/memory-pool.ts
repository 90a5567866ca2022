/** @file InMemoryDataset in a reader pool's place: loaded at the first pass, shuffled for each epoch if asked. */
import type { Batch } from '../batch.ts'
import { measureFiles } from '../files.ts'
import type { BatchReader, ReadOptions } from '../reader.ts'
import type { ReaderPool } from '../reader-pool.ts'
import { InMemoryDataset, type InMemoryDatasetOptions } from './in-memory-dataset.ts'
import type { Exchange } from './shuffles.ts'

export interface MemoryPoolOptions extends Omit<InMemoryDatasetOptions, 'batchSize' | 'files'> {
  /** A new order for each epoch, drawn from (seed, epoch); `spread`: of all files alike; `global`: over all workers. @default none */
  readonly shuffle?: 'local' | 'spread' | 'global' | undefined
  /** How a global shuffle reaches the other workers. */
  readonly exchange?: Exchange | undefined
}

export function openMemoryPool({ shuffle, exchange, ...options }: MemoryPoolOptions): ReaderPool {
  let loaded: { key: string; dataset: InMemoryDataset } | undefined
  const datasetOf = async (read: ReadOptions): Promise<InMemoryDataset> => {
    const { files, batchSize, part, seed = 0, format = 'auto', onNotice, onChunk } = read
    const key = JSON.stringify([files, batchSize, part, seed])
    if (loaded?.key === key) return loaded.dataset
    await loaded?.dataset.close()
    const dataset = new InMemoryDataset({ ...options, files, batchSize, seed, format })
    loaded = { key, dataset }
    await dataset.loadIntoMemory({ part, onNotice, onChunk })
    return dataset
  }
  return {
    read: (read): BatchReader => {
      const totalBytes = measureFiles(read.files).reduce((sum, { bytes }) => sum + bytes, 0)
      const batches = async function* (): AsyncGenerator<Batch, void> {
        const dataset = await datasetOf(read)
        if (shuffle === 'global') await dataset.globalShuffle(read.epoch, exchange)
        else if (shuffle === 'spread') dataset.spreadShuffle(read.epoch)
        else if (shuffle === 'local') dataset.localShuffle(read.epoch)
        yield* dataset.batches({ epoch: read.epoch, start: read.start })
      }
      return { totalBytes, close: async () => undefined, [Symbol.asyncIterator]: batches }
    },
    close: async () => {
      await loaded?.dataset.close()
    },
  }
}
