/** @file Which worker reads which chunk of a pass: each its own block, and then what others have not begun. */
import { UserError } from '../../base/util/index.ts'

export interface Claim {
  /** The pass, by a name used once in a job. */
  readonly pass: string
  /** Chunks of the pass; the same for all workers. */
  readonly chunks: number
  /** Counts this worker's claims in the pass from 1, so that one that arrives twice is answered alike. */
  readonly sequence: number
  /** The worker has read all it claimed: it may take over a chunk of another one's block. */
  readonly idle: boolean
  /** Where the pass goes on from a cut: what all workers had claimed before it. The first claim that comes counts. @default nothing */
  readonly taken?: readonly PlaceRun[] | undefined
}

/** Places [from, to), one after the other. */
export interface PlaceRun {
  readonly from: number
  readonly to: number
}

/** A list of places in few words; its order stays. */
export function runsOfPlaces(places: readonly number[]): PlaceRun[] {
  const runs: { from: number; to: number }[] = []
  for (const place of places) {
    const last = runs.at(-1)
    if (last?.to === place) last.to++
    else runs.push({ from: place, to: place + 1 })
  }
  return runs
}

export function placesOfRuns(runs: readonly PlaceRun[]): number[] {
  return runs.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i))
}

interface Left {
  from: number
  to: number
  readonly places?: readonly number[] | undefined
}

interface Pass {
  readonly chunks: number
  /** By worker: what of its block nobody has claimed, [from, to), of `places` where some were claimed before a cut. */
  readonly left: Left[]
  /** By worker and sequence: what was answered. */
  readonly answers: Map<string, number | null>
}

export class ChunkLedger {
  readonly #workers: number
  readonly #passes = new Map<string, Pass>()

  constructor(workers: number) {
    this.#workers = workers
  }

  /** The place of the chunk that this worker shall read; null: none, or, unless it is idle, none of its own. */
  claim(rank: number, { pass: name, chunks, sequence, idle, taken }: Claim): number | null {
    const pass = this.#pass(name, chunks, taken)
    if (pass.chunks !== chunks) throw otherPlan(name, rank, chunks, pass.chunks)
    const key = `${rank} ${sequence}`
    const known = pass.answers.get(key)
    if (known !== undefined) return known
    const own = pass.left[rank]!
    const chunk = own.from < own.to ? placeOf(own, own.from++) : idle ? steal(pass.left) : null
    pass.answers.set(key, chunk)
    return chunk
  }

  #pass(name: string, chunks: number, taken: readonly PlaceRun[] = []): Pass {
    const known = this.#passes.get(name)
    if (known) return known
    const each = Math.floor(chunks / this.#workers)
    const more = chunks % this.#workers
    const start = (rank: number) => rank * each + Math.min(rank, more)
    const blocks = Array.from({ length: this.#workers }, (_, rank) => ({ from: start(rank), to: start(rank + 1) }))
    const left = taken.length === 0 ? blocks : leftOver(blocks, chunks, taken)
    const pass = { chunks, left, answers: new Map() }
    // Of passes before this one nothing is asked any more: all workers have met since.
    this.#passes.clear()
    this.#passes.set(name, pass)
    return pass
  }
}

const placeOf = ({ places }: Left, i: number) => places?.[i] ?? i

function leftOver(blocks: readonly PlaceRun[], chunks: number, taken: readonly PlaceRun[]): Left[] {
  const isTaken = new Uint8Array(chunks)
  for (const { from, to } of taken) isTaken.fill(1, from, to)
  return blocks.map((block) => {
    const places = placesOfRuns([block]).filter((place) => isTaken[place] === 0)
    return { places, from: 0, to: places.length }
  })
}

/** The last chunk of the longest block: its owner comes there last. */
function steal(left: Pass['left']): number | null {
  const longest = left.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a))
  return longest.from < longest.to ? placeOf(longest, --longest.to) : null
}

function otherPlan(pass: string, rank: number, chunks: number, known: number): UserError {
  return new UserError(
    `${pass}: worker[${rank}] cuts the data into ${chunks} chunks, another one into ${known}; the same files were found at the start`,
    { code: 'PS_SPLIT', hint: 'do not change data files while a job reads them' },
  )
}
