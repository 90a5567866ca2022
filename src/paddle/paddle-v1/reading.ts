/** @file How a job of trainers reads: pools that run the provider in reader threads and keep a pass in memory. */
import { availableParallelism } from 'node:os'
import { builtFile } from '../../base/util/index.ts'
import { allowNoFiles, openMemoryPool, type ReaderPool } from '../../data/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { CacheType, type DataProvider } from './provider.ts'
import type { ProviderReader } from './provider-dataset.ts'

export interface ReadingOptions {
  readonly slots: TracedModel['slots']
  readonly reader: ProviderReader
  readonly provider: DataProvider
}

/**
 * Samples in a new order for each pass of training, in the files' order for tests. Steps have samples of all files alike, so that
 * nodes to which equal files are dealt out make together the steps of one machine.
 */
export function openProviderPool(phase: 'train' | 'infer', { slots, reader, provider }: ReadingOptions): ReaderPool {
  const open = () =>
    openMemoryPool({
      slots,
      threads: Math.max(1, Math.min(MOST_THREADS, availableParallelism() - 1)),
      userReader: { path: builtFile('paddle/paddle-v1/provider-dataset').href, ours: true, config: reader },
      shuffle: phase === 'train' && provider.shouldShuffle ? 'spread' : undefined,
      keepZeros: true,
    })
  return allowNoFiles(provider.cache === CacheType.NO_CACHE ? anew(open) : open())
}

/** A user's generator is slower than text, but each thread loads the configuration. */
const MOST_THREADS = 4

/** Files are read again in every pass. */
function anew(open: () => ReaderPool): ReaderPool {
  let pool: ReaderPool | undefined
  let closing: Promise<void> = Promise.resolve()
  const close = () => {
    closing = Promise.all([closing, pool?.close()]).then(() => undefined)
    pool = undefined
    return closing
  }
  return {
    read: (options) => {
      void close()
      pool = open()
      return pool.read(options)
    },
    close,
  }
}
