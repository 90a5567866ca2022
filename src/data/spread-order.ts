/** @file An order in which every stretch of a pass has samples of all chunks, of each in proportion to its size. */
import { createRng, deriveSeed } from '../util/index.ts'
import { drawnOrder } from './sample-store.ts'

/** Samples of one chunk, which lie one after another in the store. */
export interface ChunkRun {
  /** In the order of all workers' chunks together. */
  readonly place: number
  readonly samples: number
}

/**
 * Sample numbers: sample j of a chunk's n, shuffled, stands at (j + phase) / n of the pass, the phase being drawn for each chunk.
 * All of that depends on seed, round and chunk alone. So workers that have each as many of equal chunks take together, step by step,
 * the samples that one worker with all chunks takes.
 */
export function spreadOrder(runs: readonly ChunkRun[], seed: number, round: number): Uint32Array {
  const total = runs.reduce((sum, { samples }) => sum + samples, 0)
  // About one sample stands at each place, so that counting sorts them.
  const ends = new Uint32Array(total + 1)
  for (const run of runs) for (const at of placesOf(run, { total, seed, round })) ends[at + 1]!++
  for (let at = 0; at < total; at++) ends[at + 1]! += ends[at]!
  const order = new Uint32Array(total)
  let first = 0
  for (const run of runs) {
    const drawn = drawnOrder(run.samples, seed, `shuffle ${round} of chunk ${run.place}`)
    for (const [j, at] of placesOf(run, { total, seed, round }).entries()) order[ends[at]!++] = first + drawn[j]!
    first += run.samples
  }
  return order
}

/** Where the samples of a chunk stand among all, 0 to total - 1. */
function placesOf(
  { place, samples }: ChunkRun,
  { total, seed, round }: { readonly total: number; readonly seed: number; readonly round: number },
): Uint32Array {
  const phase = createRng(deriveSeed(seed, `phase ${round} of chunk ${place}`)).uniform()
  return Uint32Array.from({ length: samples }, (_, j) => Math.floor(((j + phase) / samples) * total))
}
