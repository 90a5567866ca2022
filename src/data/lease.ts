/** @file Giving memory back: a chunk's buffer may be used again when every sample of it was released. */
import type { Batch, ParsedChunk } from './batch.ts'

/**
 * Says that a batch is no longer looked at, from whichever thread used it (a batch survives postMessage). Call it once per
 * batch. Optional: buffers never released are left to the garbage collector, which is slow to see shared memory.
 */
export function releaseBatch(batch: Batch): void {
  for (const { chunk, from, to } of batch.pieces) releaseSamples(chunk, to - from)
}

export function releaseSamples(chunk: ParsedChunk, samples: number): void {
  if (chunk.lease) Atomics.add(chunk.lease, 0, samples)
}

export function isReleased(chunk: ParsedChunk): boolean {
  return chunk.lease !== undefined && Atomics.load(chunk.lease, 0) >= chunk.samples
}
