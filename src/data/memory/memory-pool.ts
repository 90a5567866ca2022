/** @file InMemoryDataset in a reader pool's place: loaded at the first pass, or before it where that is asked for; shuffled for each epoch if asked. */
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

/** Samples in memory, or on their way there. */
interface Loaded {
  readonly key: string
  readonly seed: number
  readonly dataset: InMemoryDataset
  readonly ready: Promise<void>
  /** What onChunk was or would have been told of it. */
  readonly chunks: (readonly [place: number, of: number, samples: number])[]
  /** Of the epoch whose order it has. */
  shuffled: number | undefined
}

export function openMemoryPool({ shuffle, exchange, ...options }: MemoryPoolOptions): ReaderPool {
  const passes = loadedPasses(options)
  const shuffleFor = async (own: Loaded, epoch: number): Promise<void> => {
    // A phase before this one may have put them in the order of the epoch.
    if (own.shuffled === epoch) return
    if (shuffle === 'global') await own.dataset.globalShuffle(epoch, exchange)
    else if (shuffle === 'spread') own.dataset.spreadShuffle(epoch)
    else if (shuffle === 'local') own.dataset.localShuffle(epoch)
    own.shuffled = epoch
  }
  return {
    read: (read): BatchReader => {
      const totalBytes = measureFiles(read.files).reduce((sum, { bytes }) => sum + bytes, 0)
      const batches = async function* (): AsyncGenerator<Batch, void> {
        const own = await passes.loadedFor(read)
        await shuffleFor(own, read.epoch)
        yield* own.dataset.batches({ epoch: read.epoch, start: read.start, batchSize: read.batchSize })
      }
      return { totalBytes, close: async () => undefined, [Symbol.asyncIterator]: batches }
    },
    prefetch: passes.want,
    close: passes.close,
  }
}

/** The pass that is read, and the one that is loaded meanwhile. */
function loadedPasses(options: Omit<MemoryPoolOptions, 'shuffle' | 'exchange'>) {
  let loaded: Loaded | undefined
  let next: Loaded | undefined
  /** To be loaded once the pass that is read next has its samples: it is asked for before that pass is. */
  let wanted: ReadOptions | undefined
  /** Without samples; their reader threads are there already. */
  const spare: Spare[] = []
  const load = (read: ReadOptions) => beginLoad(read, options, spare)
  const forget = async ({ ready, dataset, seed }: Loaded): Promise<void> => {
    await ready.catch(() => undefined)
    dataset.releaseMemory()
    spare.push({ seed, dataset })
  }
  const loadWanted = (): void => {
    const read = wanted
    wanted = undefined
    if (!read || [loaded?.key, next?.key].includes(keyOf(read))) return
    if (next) void forget(next)
    const begun = load(read)
    next = begun
    // What could not be loaded ahead is loaded anew when it is read.
    begun.ready.catch(() => {
      if (next !== begun) return
      next = undefined
      void forget(begun)
    })
  }
  return {
    want: (read: ReadOptions): void => {
      wanted = read
    },
    loadedFor: async (read: ReadOptions): Promise<Loaded> => {
      const key = keyOf(read)
      if (loaded?.key !== key) {
        if (loaded) await forget(loaded)
        loaded = undefined
        if (next && next.key !== key) await forget(next)
        loaded = next?.key === key ? next : load(read)
        next = undefined
      }
      await loaded.ready
      loadWanted()
      for (const chunk of loaded.chunks) read.onChunk?.(...chunk)
      return loaded
    },
    close: async (): Promise<void> => {
      const all = [loaded, next].filter((one) => one !== undefined)
      await Promise.all(all.map(forget))
      await Promise.all(spare.map(({ dataset }) => dataset.close()))
    },
  }
}

interface Spare {
  readonly seed: number
  readonly dataset: InMemoryDataset
}

function beginLoad(
  read: ReadOptions,
  options: Omit<InMemoryDatasetOptions, 'batchSize' | 'files'>,
  spare: Spare[],
): Loaded {
  const { files, batchSize, part, seed = 0, format = 'auto', onNotice } = read
  const at = spare.findIndex((one) => one.seed === seed)
  const dataset =
    at >= 0 ? spare.splice(at, 1)[0]!.dataset : new InMemoryDataset({ ...options, files, batchSize, seed, format })
  dataset.setFileList(files)
  const chunks: Loaded['chunks'] = []
  const ready = dataset.loadIntoMemory({ part, format, onNotice, onChunk: (...chunk) => chunks.push(chunk) })
  ready.catch(() => undefined) // thrown to who reads it
  return { key: keyOf(read), seed, dataset, ready, chunks, shuffled: undefined }
}

/** Batches may be cut otherwise from the same samples. */
const keyOf = ({ files, part, seed = 0 }: ReadOptions) => JSON.stringify([files, part, seed])
