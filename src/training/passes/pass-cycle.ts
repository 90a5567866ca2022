/**
 * @file The life of passes: one trains on its side while the next is loaded, its signs collected and its rows pulled to the other side;
 * its end writes rows back to the host's tables.
 */
import { performance } from 'node:perf_hooks'
import { UserError } from '../../base/util/index.ts'
import type { Batch, Piece } from '../../data/index.ts'
import type { RowTableHandle } from '../../weights/params/index.ts'
import { emptyTableLike, SparseTable } from '../../weights/table/index.ts'
import type { Side } from './pass-rows.ts'
import type { PrepareThreads } from './prepare-threads.ts'

/** A pass's samples, which are read when it is prepared. */
export interface PassSamples {
  /** Passes of equal keys have equal samples: their rows stay where they are. */
  readonly key: string
  /** Loads them into memory. */
  load(): Promise<LoadedSamples>
}

export interface LoadedSamples {
  readonly samples: number
  readonly pieces: readonly Piece[]
  /** All of them once; those behind `start`, whose batch is then the first. */
  batches(epoch: number, start: { readonly sample: number; readonly batch: number }): Iterable<Batch>
}

/** Where rows are trained: all trainer threads together. Both return the bytes that went to devices or came from them. */
export interface PassTrainers {
  beginPass(side: Side): Promise<number>
  endPass(): Promise<number>
}

export interface TableRows {
  readonly table: string
  readonly rows: number
  /** Of weights and state, as trained. */
  readonly bytes: number
}

/** A pass whose rows are in place. */
export interface ReadyPass {
  readonly samples: number
  readonly tables: readonly TableRows[]
  /** Of its preparation, most of which goes on while the pass before trains. */
  readonly loadSeconds: number
  readonly collectSeconds: number
}

export interface BegunPass extends ReadyPass {
  /** How long training stood still for the preparation. */
  readonly waitedSeconds: number
  /** That, and what it took to put the rows where they are trained. */
  readonly seconds: number
}

export interface EndedPass extends BegunPass {
  /** Rows that the host's tables did not have before. */
  readonly newRows: number
  /** Rows pulled, written back, and moved to and from devices. */
  readonly bytesMoved: number
  /** What writing back took. */
  readonly endSeconds: number
}

interface Prepared extends ReadyPass {
  readonly key: string
  readonly side: Side
  readonly loaded: LoadedSamples
  readonly pulledBytes: number
}

export interface PassCycleOptions {
  readonly host: readonly SparseTable[]
  readonly sides: readonly [readonly RowTableHandle[], readonly RowTableHandle[]]
  readonly threads: PrepareThreads
  readonly trainers: PassTrainers
  /** This thread's number among those that use the tables. */
  readonly thread: number
}

/** Two sides of tables like the host's, which trainer and preparation threads share. */
export function createSides(host: readonly RowTableHandle[]): PassCycleOptions['sides'] {
  return [host.map(emptyTableLike), host.map(emptyTableLike)]
}

export class PassCycle {
  readonly #options: PassCycleOptions
  readonly #sides: readonly (readonly SparseTable[])[]
  #prepared: Promise<Prepared> | undefined
  #onOtherSide = false
  #begun: (Prepared & BegunPass & { readonly movedBytes: number }) | undefined
  /** The pass that ended last, whose rows its side still has. */
  #last: Prepared | undefined
  #day: string | undefined

  constructor(options: PassCycleOptions) {
    this.#options = options
    this.#sides = options.sides.map((side) => side.map((handle) => new SparseTable(handle, options.thread)))
  }

  /** Begins to prepare the pass that comes after the one that trains, if one does. */
  prepare(pass: PassSamples): void {
    const before = this.#begun ?? this.#last
    this.#onOtherSide = before?.key !== pass.key
    // Its samples are in memory and its rows in place: there is nothing to do.
    const same = before && { ...before, loadSeconds: 0, collectSeconds: 0, pulledBytes: 0 }
    this.#prepared = same && !this.#onOtherSide ? Promise.resolve(same) : this.#make(pass, before)
    this.#prepared.catch(() => undefined) // thrown by beginPass
  }

  /** Resolves when the prepared pass is ready to begin. */
  async ready(): Promise<ReadyPass> {
    if (!this.#prepared) throw outOfTurn('[BeginPass] no pass was loaded.', 'Load its samples before.')
    return await this.#prepared
  }

  /** The prepared pass's rows come to where they are trained. */
  async beginPass(): Promise<BegunPass & { readonly loaded: LoadedSamples }> {
    if (this.#begun) throw outOfTurn('[BeginPass] current task is not ended.', 'Call endPass before.')
    const started = performance.now()
    await this.ready()
    const prepared = await this.#prepared!
    this.#prepared = undefined
    const waitedSeconds = secondsSince(started)
    const movedBytes = await this.#options.trainers.beginPass(prepared.side)
    const begun = { ...prepared, waitedSeconds, seconds: secondsSince(started), movedBytes }
    this.#begun = begun
    return begun
  }

  /** What was trained is in the host's tables when this resolves, and in the pass that is prepared. */
  async endPass(): Promise<EndedPass> {
    const begun = this.#begun
    if (!begun) throw outOfTurn('[EndPass] current task has been ended.', 'Call beginPass before.')
    const { host, trainers, threads } = this.#options
    const started = performance.now()
    const moved = begun.movedBytes + (await trainers.endPass())
    const before = rowsOf(host)
    await threads.writeBack(begun.side, this.#prepared !== undefined && this.#onOtherSide)
    this.#begun = undefined
    this.#last = begun
    const newRows = rowsOf(host) - before
    // A table with an accessor has gained rows meanwhile.
    const tables = this.#tablesOf(begun.side)
    const written = tables.reduce((sum, { bytes }) => sum + bytes, 0)
    const bytesMoved = moved + begun.pulledBytes + written
    return { ...begun, tables, newRows, bytesMoved, endSeconds: secondsSince(started) }
  }

  get isBegun(): boolean {
    return this.#begun !== undefined
  }

  /** The day, as YYYYMMDD, of the passes from now on: with each that goes by, show and click fade. Returns how many rows went. */
  setDate(day: string): number {
    if (!isDay(day)) throw new UserError(`set_date: expected a day as YYYYMMDD, got "${day}"`, { code: 'GPUPS_DATE' })
    if (this.#begun) throw outOfTurn('[SetDate] current task is not ended.', 'Call endPass before.')
    const days = this.#day === undefined ? 0 : Math.round((timeOf(day) - timeOf(this.#day)) / DAY_MS)
    if (days < 0)
      throw new UserError(`set_date: ${day} lies before ${this.#day}, which was set already`, { code: 'GPUPS_DATE' })
    this.#day = day
    let gone = 0
    for (let i = 0; i < days; i++) gone += this.#options.host.reduce((sum, table) => sum + table.shrink(), 0)
    if (days > 0) this.pullAnew()
    return gone
  }

  /** The host's tables have changed since rows were pulled for the pass that is prepared. */
  pullAnew(): void {
    this.#last = undefined
    this.#prepared = this.#prepared?.then(async (prepared) => {
      const started = performance.now()
      const pulledBytes = await this.#pull(prepared.side, prepared.loaded)
      const collectSeconds = prepared.collectSeconds + secondsSince(started)
      return { ...prepared, pulledBytes, tables: this.#tablesOf(prepared.side), collectSeconds }
    })
    this.#prepared?.catch(() => undefined)
  }

  async #make({ key, load }: PassSamples, before: Prepared | undefined): Promise<Prepared> {
    const started = performance.now()
    const loaded = await load()
    const loadSeconds = secondsSince(started)
    const side: Side = before?.side === 0 ? 1 : 0
    const pulledBytes = await this.#pull(side, loaded)
    const collectSeconds = secondsSince(started) - loadSeconds
    const { samples } = loaded
    return { key, side, loaded, samples, pulledBytes, tables: this.#tablesOf(side), loadSeconds, collectSeconds }
  }

  /** Every sign of the samples has its row on this side; returns the bytes that were copied out of the host's tables. */
  async #pull(side: Side, { pieces }: LoadedSamples): Promise<number> {
    for (const table of this.#sides[side]!) table.clear()
    return await this.#options.threads.collect(side, pieces)
  }

  #tablesOf(side: Side): TableRows[] {
    return this.#sides[side]!.map(({ name, rowCount, rowBytes }) => ({
      table: name,
      rows: rowCount,
      bytes: rowCount * rowBytes,
    }))
  }
}

const DAY_MS = 24 * 60 * 60 * 1000
const timeOf = (day: string) => Date.UTC(+day.slice(0, 4), +day.slice(4, 6) - 1, +day.slice(6))
const isDay = (day: string) =>
  /^\d{8}$/.test(day) && new Date(timeOf(day)).toISOString().slice(0, 10).replaceAll('-', '') === day

const secondsSince = (started: number) => (performance.now() - started) / 1000
const rowsOf = (tables: readonly SparseTable[]) => tables.reduce((sum, { rowCount }) => sum + rowCount, 0)

function outOfTurn(message: string, hint: string): UserError {
  return new UserError(message, { code: 'GPUPS_PASS', hint })
}
