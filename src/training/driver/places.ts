/** @file Where the processes of a job were inside an epoch, dealt out anew to another number of them: no sample is left out, none read twice. Pure. */
import { blockOf, countPieces, measureFiles } from '../../data/index.ts'
import type { WorkerPlace } from '../../weights/snapshot/index.ts'
import { type PlaceRun, placesOfRuns, runsOfPlaces } from '../ps/index.ts'
import { type Input, inputKind } from '../threads/index.ts'

export interface Resizing {
  /** Processes from now on. */
  readonly count: number
  /** Chunks of the epoch, of all processes together. */
  readonly chunks: number
  /** They take chunks one by one: only what was read is theirs. Otherwise all that is left is dealt out. */
  readonly claims: boolean
}

interface Item {
  readonly place: number
  readonly sample: number
  readonly checksum?: number | undefined
}

/** Chunks that are read go along, so that all that was read is still known; those that somebody has begun go to one who reads the rest. */
export function resize(places: readonly WorkerPlace[], { count, chunks, claims }: Resizing): WorkerPlace[] {
  const lists = places.map((place, index) => chunksOf(place, { index, count: places.length }, chunks))
  const read = lists.flatMap((list, i) => list.slice(0, places[i]!.position.chunk))
  const begun = lists.flatMap((list, i) => begunOf(list, places[i]!))
  const seen = new Set([...read, ...begun.map(({ place }) => place)])
  const rest = claims ? [] : Array.from({ length: chunks }, (_, place) => place).filter((place) => !seen.has(place))
  const left: readonly Item[] = [...begun, ...rest.map((place) => ({ place, sample: 0 }))]
  const [{ position, input, chunkBytes }] = places as [WorkerPlace]
  const batch = Math.max(...places.map((place) => place.position.batch))
  return Array.from({ length: count }, (_, index) => {
    const part = <T>(all: readonly T[]) => all.filter((_, i) => i % count === index)
    const [done, own] = [part(read), part(left)]
    const [first, ...others] = own
    const later = others.filter(({ sample }) => sample > 0)
    return {
      position: { epoch: position.epoch, batch, chunk: done.length, ...cursor(first) },
      input,
      claimed: runsOfPlaces([...done, ...own.map(({ place }) => place)]),
      ...(later.length > 0 ? { begun: later.map((one) => ({ place: one.place, ...cursor(one) })) } : {}),
      ...(chunkBytes === undefined ? {} : { chunkBytes }),
    }
  })
}

export interface Placing extends Resizing {
  /** What it reads is read in a way that can be dealt out anew: chunks of files that all have. */
  readonly canResize: boolean
}

/** Where processes go on, by rank; undefined: nobody can tell, the epoch begins anew. */
export function placed(places: readonly WorkerPlace[], placing: Placing): readonly WorkerPlace[] | undefined {
  const { count, claims, canResize } = placing
  const isListed = places[0]?.claimed !== undefined
  // One process takes nothing one by one: it has a list of its own, or all there is.
  if (places.length === count && (isListed || !claims)) return places
  if (!canResize || !shareData(places) || (places.length > 1 && claims && !isListed)) return undefined
  return resize(places, placing)
}

/** Whether a reader takes chunk by chunk, any it is given. */
export const isDealt = ({ inMemory, reader }: Input) => !inMemory && !reader.python?.together

/** Of an epoch, as readers cut it. */
export const chunksIn = (files: readonly string[], input: Input, chunkBytes?: number) =>
  countPieces(
    measureFiles(files).filter(({ bytes }) => bytes > 0),
    inputKind(input),
    chunkBytes,
  )

/** Whether all were given parts of the same data, so that one may read what was another's. */
export function shareData(places: readonly WorkerPlace[]): boolean {
  const [first, ...others] = places.map(({ input }) => JSON.stringify(input))
  return others.every((other) => other === first)
}

export const resizedText = (before: number, now: number, who: string, epoch: number) =>
  `Epoch ${epoch} goes on with ${now} ${who} where ${before} were: what is left of it is dealt out anew, no sample is left out or read twice.`

export const epochAnew = (epoch: number, before: number, who: string) =>
  `${before} ${who} were stopped inside epoch ${epoch}, and the rest of it cannot be dealt out anew (here is one process alone, or data are kept in memory, or each has files of its own): that epoch is trained from its beginning.`

function chunksOf(
  { claimed }: WorkerPlace,
  part: { readonly index: number; readonly count: number },
  chunks: number,
): readonly number[] {
  if (claimed) return placesOfRuns(claimed as readonly PlaceRun[])
  return blockOf(
    Array.from({ length: chunks }, (_, place) => place),
    part,
  )
}

/** The chunk it was in, and those behind it that another one had begun. */
function begunOf(list: readonly number[], { position, begun = [] }: WorkerPlace): readonly Item[] {
  const { chunk, sample, checksum } = position
  const behind = new Set(list.slice(chunk + 1))
  const own = list[chunk]
  const first = own !== undefined && sample > 0 ? [{ place: own, sample, checksum }] : []
  return [...first, ...begun.filter(({ place }) => behind.has(place))]
}

const cursor = (item: Item | undefined) => ({
  sample: item?.sample ?? 0,
  ...(item?.checksum === undefined ? {} : { checksum: item.checksum }),
})
