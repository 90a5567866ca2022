/** @file A global shuffle: every sample goes to a worker drawn by seed; what the others send takes its place. */
import { deserialize, serialize } from 'node:v8'
import { createRng, deriveSeed } from '../util/index.ts'
import type { Slot } from './batch.ts'
import type { Exchange } from './exchange.ts'
import type { Columns } from './pack.ts'
import { createSampleStore, type SampleStore } from './sample-store.ts'

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
