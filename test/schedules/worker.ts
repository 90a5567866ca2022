/** @file What a worker of a simulated job asks, in the order of src/training/driver: a generator that yields requests and is given the answers. */
import { cutSchedule } from '../../src/training/driver/cuts.ts'
import { checkSplit } from '../../src/training/driver/pass-report.ts'
import { resize } from '../../src/training/driver/places.ts'
import { type PlaceRun, placesOfRuns, runsOfPlaces } from '../../src/training/ps/ledger.ts'
import type { WorkerPlace } from '../../src/weights/snapshot/index.ts'
import type { Answer, Request, SimMode, Table } from './server.ts'

export interface JobSize {
  readonly mode: SimMode
  readonly workers: number
  readonly servers: number
  readonly epochs: number
  readonly chunks: number
  /** Each is a batch. */
  readonly samplesPerChunk: number
  /** Batches between two cuts. */
  readonly interval: number
}

/** Where a worker was at a cut. */
export interface Place {
  readonly batch: number
  /** How many samples of what it has taken it has trained. */
  readonly trained: number
  readonly claimed: readonly PlaceRun[]
  /** Of these: chunks whose first samples another one has trained. */
  readonly begun?: WorkerPlace['begun']
}

/** The same job with another number of workers: places as src/training/driver deals them out anew. */
export function resized(saved: Saved, size: JobSize): Saved {
  const { samplesPerChunk: each, chunks, workers: count, mode } = size
  if (!saved.places || saved.places.length === count) return saved
  const places = saved.places.map(({ batch, trained, claimed, begun }): WorkerPlace => {
    const position = { epoch: saved.epoch, batch, chunk: Math.floor(trained / each), sample: trained % each }
    return { position, input: INPUT, claimed: [...claimed], ...(begun ? { begun } : {}) }
  })
  const now = resize(places, { count, chunks, claims: mode !== 'sync' })
  return {
    ...saved,
    places: now.map(({ position, claimed = [], begun }) => {
      const trained = position.chunk * each + position.sample
      return { batch: position.batch, trained, claimed, ...(begun ? { begun } : {}) }
    }),
  }
}

const INPUT = { files: 1, bytes: 1, crc32: '0' }

export interface Saved {
  readonly epoch: number
  /** Undefined: the epoch begins. */
  readonly places?: readonly Place[]
  readonly tables: readonly Table[]
}

/** A request to each of these servers; answered when all have answered, or, where nobody waits for them, at once. */
export interface Asked {
  readonly to: readonly number[]
  readonly request: (server: number) => Request
  readonly waits: boolean
}

export type Effect =
  | { readonly kind: 'ask'; readonly asked: Asked }
  /** Until all that was sent without waiting is answered. */
  | { readonly kind: 'settle' }
  /** Worker 0 alone: takes a while, and is then whole on the disk. */
  | { readonly kind: 'write'; readonly saved: Saved }

type Script<T = void> = Generator<Effect, T, readonly Answer[]>

interface Paused {
  readonly place: Place
  readonly paused: boolean
}

const FIRST = [0]

export function* workerScript(rank: number, size: JobSize, from: Saved): Script {
  const all = Array.from({ length: size.servers }, (_, server) => server)
  if (rank === 0) yield* toAll(all, (server) => ({ kind: 'load', table: from.tables[server]! }))
  yield* gather('start', null)
  let [sequence, turns] = [0, 0]
  const turn = (kind: 'join' | 'leave') => {
    const own = ++turns
    return (): Request => ({ kind, turn: own })
  }
  for (let epoch = from.epoch; epoch < size.epochs; epoch++) {
    const restored = epoch === from.epoch ? from.places : undefined
    const pass = new Pass(rank, size, epoch, restored)
    for (let part = 1; ; part++) {
      const name = `epoch ${epoch}, part ${part}`
      yield* toAll(all, turn('join'))
      yield* gather(`begin of ${name}`, null)
      const own = yield* trainPart(pass, size, all, () => ++sequence)
      yield { kind: 'settle' }
      yield* toAll(all, turn('leave'))
      const reports = (yield* gather(`end of ${name}`, { ...own, read: pass.read })) as (Paused & { read: number[] })[]
      if (!reports.some(({ paused }) => paused)) {
        checkSplit(
          name,
          reports.map(({ read }) => ({ read: { chunks: read, of: size.chunks } })),
        )
        break
      }
      const places = (yield* gather(`a cut of ${name}`, own.place)) as Place[]
      if (rank === 0) yield { kind: 'write', saved: { epoch, places, tables: yield* tables(all) } }
      yield* gather(`a cut of ${name} is saved`, null)
    }
    if (rank === 0) yield { kind: 'write', saved: { epoch: epoch + 1, tables: yield* tables(all) } }
    yield* gather(`saving of epoch ${epoch}`, null)
  }
  yield* gather('end', null)
}

/** What this worker has taken of a pass, and trained of it. */
class Pass {
  readonly rank: number
  readonly name: string
  readonly taken: readonly PlaceRun[] | undefined
  readonly claimed: number[]
  readonly begun: Place['begun']
  trained: number
  batch: number
  claims = 0

  constructor(rank: number, { mode, workers, chunks }: JobSize, epoch: number, restored: readonly Place[] | undefined) {
    const own = restored?.[rank]
    this.rank = rank
    this.name = `epoch ${epoch}`
    this.taken = restored?.flatMap(({ claimed }) => claimed)
    this.trained = own?.trained ?? 0
    this.batch = own?.batch ?? 0
    // In sync each worker reads its own.
    const block = Array.from({ length: chunks }, (_, chunk) => chunk).filter((chunk) => chunk % workers === rank)
    this.claimed = mode === 'sync' && !own ? block : placesOfRuns(own?.claimed ?? [])
    this.begun = own?.begun
  }

  get read(): readonly number[] {
    return this.claimed
  }

  /** Past samples of the next chunk that another one has trained. */
  skip(each: number): void {
    const before =
      this.trained % each === 0 && this.begun?.find(({ place }) => place === this.claimed[this.trained / each])
    if (before) this.trained += before.sample
  }
}

/** Up to the next cut, or to the end of the data. */
function* trainPart(pass: Pass, size: JobSize, all: readonly number[], next: () => number): Script<Paused> {
  const { mode, samplesPerChunk, servers } = size
  const schedule = cutSchedule(size.interval, { inStep: mode === 'sync' })!
  const start = pass.batch
  for (;;) {
    pass.skip(samplesPerChunk)
    const isRead = pass.trained >= pass.claimed.length * samplesPerChunk
    if (isRead && (mode === 'sync' || !(yield* claim(pass, size)))) return { place: placeOf(pass), paused: false }
    if (pass.batch > start && schedule.pauses(pass.batch)) return { place: placeOf(pass), paused: true }
    const chunk = pass.claimed[Math.floor(pass.trained / samplesPerChunk)]!
    const sample = chunk * samplesPerChunk + (pass.trained % samplesPerChunk)
    const sequence = next()
    yield* toAll(all, () => ({ kind: 'pull', pushes: sequence - 1 }))
    const samples = (server: number) => (sample % servers === server ? [sample] : [])
    const request = (server: number): Request => ({ kind: 'push', sequence, samples: samples(server) })
    yield { kind: 'ask', asked: { to: all, request, waits: mode !== 'async' } }
    pass.trained++
    pass.batch++
  }
}

const placeOf = ({ batch, trained, claimed, begun }: Pass): Place => ({
  batch,
  trained,
  claimed: runsOfPlaces(claimed),
  ...(begun ? { begun } : {}),
})

/** One more chunk of its own, or of another's; false: there is none. */
function* claim(pass: Pass, { chunks }: JobSize): Script<boolean> {
  for (const idle of [false, true]) {
    const sequence = ++pass.claims
    const asked = { pass: pass.name, chunks, sequence, idle, ...(pass.taken ? { taken: pass.taken } : {}) }
    const [chunk] = yield* ask(FIRST, () => ({ kind: 'claim', claim: asked }))
    if (typeof chunk !== 'number') continue
    pass.claimed.push(chunk)
    return true
  }
  return false
}

function* tables(all: readonly number[]): Script<readonly Table[]> {
  return (yield* ask(all, () => ({ kind: 'save' }))) as readonly Table[]
}

function* gather(name: string, what: unknown): Script<readonly unknown[]> {
  const [answer] = yield* ask(FIRST, () => ({ kind: 'gather', name, what }))
  const { kind, brought } = answer as { kind: string; brought: readonly unknown[] }
  if (kind !== 'met') throw new Error(`${kind} at ${name}`)
  return brought
}

function* toAll(all: readonly number[], request: (server: number) => Request): Script {
  yield* ask(all, request)
}

function* ask(to: readonly number[], request: (server: number) => Request): Script<readonly Answer[]> {
  return yield { kind: 'ask', asked: { to, request, waits: true } }
}
