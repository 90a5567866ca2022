/** @file Two shuffles: one in which every sample goes to a worker drawn by seed, and an order in which every stretch of a pass has samples of all chunks, of each in proportion to its size. */
import { deserialize, serialize } from 'node:v8'
import { createRng, deriveSeed } from '../../base/util/index.ts'
import type { Columns, Slot } from '../batch.ts'
import { createSampleStore, drawnOrder, type SampleStore } from './sample-store.ts'

/** Samples between workers, in whatever way they are connected. */
export interface Exchange {
  readonly rank: number
  readonly workers: number
  /**
   * Gives a parcel to every worker, itself included, in each round, and gets theirs, by rank, in the same order on every run.
   * Ends when all have given their last. `name` is used once in a job.
   */
  swap(name: string, rounds: Iterable<readonly Uint8Array[]>): AsyncIterable<readonly Uint8Array[]>
}

export interface ShuffledSamples {
  readonly store: SampleStore
  /** Texts before the slots, of each sample; empty where the data has none. */
  readonly leading: (readonly string[])[]
}

export interface GlobalShuffleOptions extends ShuffledSamples {
  readonly slots: readonly Slot[]
  readonly seed: number
  readonly round: number
  readonly exchange: Exchange
}

/** Samples that travel together. */
const ROUND_SAMPLES = 4096

interface Parcel {
  readonly columns: Columns
  readonly leading: readonly (readonly string[])[]
}

export async function globalShuffle(options: GlobalShuffleOptions): Promise<ShuffledSamples> {
  const { slots, exchange, round } = options
  const store = createSampleStore(slots)
  const leading: (readonly string[])[] = []
  for await (const parcels of exchange.swap(`global shuffle ${round}`, roundsOf(options))) {
    for (const bytes of parcels) {
      if (bytes.byteLength === 0) continue
      const parcel = deserialize(bytes) as Parcel
      store.addColumns(parcel.columns)
      leading.push(...parcel.leading)
    }
  }
  return { store, leading }
}

/** Own samples, block by block, each by where it goes. */
function* roundsOf({ store, leading, seed, round, exchange }: GlobalShuffleOptions): Generator<readonly Uint8Array[]> {
  const { rank, workers } = exchange
  const rng = createRng(deriveSeed(seed, `global shuffle ${round} of worker ${rank}`))
  for (let from = 0; from < store.samples; from += ROUND_SAMPLES) {
    const going = Array.from({ length: workers }, (): number[] => [])
    for (let i = from; i < Math.min(store.samples, from + ROUND_SAMPLES); i++) going[rng.below(workers)]!.push(i)
    yield going.map((samples) => {
      if (samples.length === 0) return new Uint8Array(0)
      const columns = store.columnsOf(Uint32Array.from(samples))
      const parcel: Parcel = { columns, leading: leading.length > 0 ? samples.map((i) => leading[i]!) : [] }
      return serialize(parcel)
    })
  }
}

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
