/** @file Parts of chunks, in number order, cut into batches. Knows nothing of threads. */
import { defined } from '../base/util/index.ts'
import type { Batch, ParsedChunk, Piece } from './batch.ts'

export interface ChunkPart {
  readonly chunk: number
  readonly parsed: ParsedChunk
  /** Number, in its chunk, of the part's first sample. */
  readonly firstSample: number
  /** Samples to leave out at its start. */
  readonly skip: number
  /** Input bytes before this part, and of it. */
  readonly bytesBefore: number
  readonly bytes: number
  /** For cursors in this part. */
  readonly checksum?: number | undefined
}

export interface Batcher {
  /** Batches that became whole with this part. */
  add(part: ChunkPart): Generator<Batch>
  /** The last, smaller batch. */
  finish(): Batch | undefined
}

export interface BatcherOptions {
  readonly batchSize: number
  readonly epoch: number
  readonly firstIndex: number
  readonly totalBytes: number
}

export function createBatcher({ batchSize, epoch, firstIndex, totalBytes }: BatcherOptions): Batcher {
  let pieces: Piece[] = []
  let size = 0
  let index = firstIndex
  let cursor: Batch['cursor'] = { chunk: 0, sample: 0 }
  let bytesRead = 0

  const take = (): Batch => {
    const batch = {
      epoch,
      index: index++,
      size,
      pieces,
      cursor,
      fraction: totalBytes === 0 ? 1 : Math.min(1, bytesRead / totalBytes),
    }
    pieces = []
    size = 0
    return batch
  }
  return {
    *add({ chunk, parsed, firstSample, skip, bytesBefore, bytes, checksum }) {
      for (let from = skip; from < parsed.samples; ) {
        const to = Math.min(parsed.samples, from + batchSize - size)
        pieces.push({ chunk: parsed, from, to })
        size += to - from
        from = to
        cursor = defined({ chunk, sample: firstSample + to, checksum })
        bytesRead = bytesBefore + (bytes * to) / parsed.samples
        if (size === batchSize) yield take()
      }
    },
    finish: () => (size > 0 ? take() : undefined),
  }
}
