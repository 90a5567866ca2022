/** @file QueueDataset: files streamed to the trainer. */
import { openReaderPool, type ReaderPool, type Slot } from '../data/index.ts'
import type { UserError } from '../util/index.ts'
import { Dataset, datasetError } from './dataset.ts'

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
