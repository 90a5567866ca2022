/** @file Geo on a worker: it trains its own copy of the model and now and then exchanges what has changed with the servers. */
import type { GeoDelta } from '../../base/config/index.ts'
import { HalfCoder } from '../../base/kernel/index.ts'
import { type StepFactors, stepFactors } from '../../weights/optim/index.ts'
import { LocalParams, type LocalParamsHandle, type Slice } from '../../weights/params/index.ts'
import { type DistinctSigns, ExchangedTable, type Placement, SignMerger } from '../../weights/table/index.ts'
import { driftFrom } from './drift.ts'
import { GEO_SIGNS, SignList } from './geo-changes.ts'
import { decodeGeo, encodeGeo, type GeoMessage } from './geo-protocol.ts'
import type { RowShape } from './geo-rules.ts'
import { METHODS } from './protocol.ts'
import type { Call } from './remote-params.ts'
import { type Halved, halvedSlice } from './runs.ts'
import type { RowBlock } from './store.ts'
import type { Touched } from './touched.ts'
import { UnsentRows } from './unsent-rows.ts'

export interface GeoExchangeOptions {
  readonly call: Call
  readonly segments: number
  /** What the trainer threads of this worker train: see createCopy. */
  readonly local: LocalParamsHandle
  /** A thread number that no trainer has, and the one after it. */
  readonly thread: number
  readonly placement: Placement
  readonly slices: readonly Slice[]
  /** Workers of the job. */
  readonly workers: number
  /** share: Paddle's rule for rows and dense weights alike; whole: rows alone. @default 'whole' */
  readonly delta?: GeoDelta | undefined
  /** Values travel to and from this server as float16. @default none */
  readonly isHalved?: ((server: number) => boolean) | undefined
}

/** Rows that so many batches have trained do not wait for the exchange of all: by then one of some tens of samples would have most of them. */
const OFTEN = 2

/**
 * By row, and by dense weight where the program has any, with `old` what the servers are known to hold:
 * send delta = (local - old) / share, old += delta; the servers add it.
 * Take what changed there: local += server - old, old = server. What an optimizer keeps beside a weight goes with it (assembly/segment-exchange.ts).
 * Rows are mostly trained by one worker at a time and are sent whole (share 1); dense weights are then trained by the servers (GeoParams),
 * and the copy is without them (createCopy). With Paddle's rule share is the number of workers for both, and what a worker has
 * not brought in it keeps and brings in later: the servers get the sum of all workers' steps late, and dense weights swing.
 * The optimizer's step count is that of all workers, as it is where they share one optimizer: by a worker's own count Adam
 * takes itself for younger than it is, and learns rows that come seldom too slowly. Moments of dense weights have seen every
 * step of this worker and none of the others: they are corrected by its own count.
 */
export class GeoExchange {
  readonly #options: GeoExchangeOptions
  readonly #local: LocalParams
  /** By table: what is exchanged of a row. */
  readonly #shapes: readonly RowShape[]
  /** The local tables, whose rows know what the servers hold of them. */
  readonly #tables: readonly ExchangedTable[]
  /** The weights themselves, shared with the trainer threads. */
  readonly #denseWeights: Float32Array
  readonly #oldDense: Float32Array
  readonly #merger: SignMerger
  readonly #coder = new HalfCoder()
  /** One of so many parts of a row's change is brought in by an exchange. */
  readonly #share: number
  readonly #slices: readonly Slice[]
  #sequence = 0
  /** The step count after the last exchange: what is beyond it the servers do not know of. */
  #knownSteps = 0
  /** Tables that share signs. */
  #groups: readonly (readonly number[])[] = []
  /** By group: rows of which the servers may lack something. */
  readonly #behind: SignList[] = []
  /** By group: rows trained since they were sent. */
  readonly #unsent: UnsentRows[] = []

  /** How far the dense weights were from the servers' at the last exchange, of the length of those. */
  drift = 0

  constructor(options: GeoExchangeOptions) {
    const { segments, local, thread, placement } = options
    this.#options = options
    this.#share = options.delta === 'share' ? options.workers : 1
    this.#local = new LocalParams(local, thread)
    this.#slices = options.delta === 'share' ? options.slices : options.slices.map(() => ({ from: 0, to: 0 }))
    this.#shapes = local.tables.map(({ layout: { dim, exchange } }) => ({ dim, decays: exchange!.decays }))
    this.#tables = local.tables.map((table) => new ExchangedTable(table, thread + 1))
    const { buffer, byteOffset } = this.#local.dense.bytes()
    this.#denseWeights = new Float32Array(buffer, byteOffset, this.#local.dense.layout.floats)
    this.#oldDense = Float32Array.from(this.#denseWeights)
    this.#merger = new SignMerger(segments, placement)
  }

  /** Takes over what the servers hold, before training: a model may have been loaded there. */
  async begin(rowsOnServers: (table: number) => AsyncIterable<RowBlock>): Promise<void> {
    const merger = new SignMerger(this.#options.segments)
    for (const [t, table] of this.#tables.entries()) {
      for await (const { signs, rows } of rowsOnServers(t)) {
        const distinct = merger.distinct([signs], table.width)
        const inOrder = merger.add([new Float32Array(rows.slice().buffer)], table.width)
        table.takeStored(distinct, inOrder, this.#factors(t))
      }
    }
    await this.run([])
  }

  /**
   * Exchanges with all servers; no thread of this worker may train meanwhile. Of rows, all that were trained since they were sent,
   * or those that were trained often: what several workers do to a row that each of them trains in every batch is added up, and
   * the sum of many steps of each overshoots.
   */
  async run(touched: readonly Touched[], rows: 'all' | 'often' = 'all'): Promise<void> {
    const signs = this.#share > 1 ? this.#distinctOf(touched) : await this.#take(touched, rows)
    const lists = signs.map((own) => {
      const list = new SignList(this.#merger)
      list.add(own)
      return list
    })
    if (this.#share > 1) this.#remember(signs)
    await this.#exchangeAll(lists, this.#share)
  }

  /**
   * The last exchange of an epoch also brings in what the others held back: where servers get a share of a change, a row that
   * is trained now and then is behind. What remains is what endless further exchanges would bring.
   */
  async settle(touched: readonly Touched[]): Promise<void> {
    await this.run(touched)
    if (this.#share > 1) await this.#exchangeAll(this.#behind, 1)
  }

  /** Sends 1 / share of the changes of these rows, by group, some at a time, and takes all changes of the others. */
  async #exchangeAll(lists: readonly SignList[], share: number): Promise<void> {
    for (let isMore = true; isMore || lists.some(({ isEmpty }) => !isEmpty); ) {
      isMore = await this.#exchange(
        lists.map((list) => this.#merger.distinct(list.take(GEO_SIGNS))),
        share,
      )
    }
  }

  /** One message to each server; true when one of them has more. */
  async #exchange(groups: readonly DistinctSigns[], share: number): Promise<boolean> {
    const { call } = this.#options
    const slices = this.#slices
    const { dense } = this.#local
    const sequence = ++this.#sequence
    const steps = dense.steps - this.#knownSteps
    const answers = await Promise.all(
      slices.map(async (slice, server) => {
        const halved = this.#halved(server)
        const deltas = this.#deltas(groups, share, server, halved)
        const parts = encodeGeo({ ...deltas, sequence, steps, isMore: false, halved })
        return call(server, METHODS.geo, parts, `geo exchange ${sequence}`, (answer) =>
          decodeGeo(answer.slice(), 'float32', this.#shapes, slice.to - slice.from, this.#coder),
        )
      }),
    )
    this.drift = driftFrom(this.#denseWeights, answers, slices)
    for (const [server, answer] of answers.entries()) this.#takeOver(answer, slices[server]!)
    this.#knownSteps = Math.max(...answers.map((answer) => answer.steps))
    dense.countOthers(this.#knownSteps)
    return answers.some(({ isMore }) => isMore)
  }

  #halved(server: number): Halved | undefined {
    const { isHalved } = this.#options
    return isHalved?.(server)
      ? halvedSlice(this.#coder, this.#local.dense.layout.trainable, this.#slices[server]!)
      : undefined
  }

  #deltas(groups: readonly DistinctSigns[], share: number, server: number, halved: Halved | undefined) {
    const { from, to } = this.#slices[server]!
    const own = groups.map((distinct) => partOf(distinct, server, this.#options.segments))
    const tables = groups.length > 0 ? this.#local.tables : []
    const tableGroups = tables.map((_, t) => this.#groups.findIndex((group) => group.includes(t)))
    const brought = this.#tables.slice(0, tables.length).map((table, t) => {
      const signs = own[tableGroups[t]!]!
      const parts = table.bring(signs, share, this.#factors(t))
      if (halved) roundTrip(this.#coder, parts.weights)
      table.sent(signs, parts.weights)
      return parts
    })
    const rows = { gradients: brought.map(({ weights }) => weights), states: brought.map(({ states }) => states) }
    const hasState = this.#shapes.some(({ decays }) => decays.length > 0)
    const touches = hasState ? own.map((_, g) => brought[tableGroups.indexOf(g)]!.touches) : []
    const dense = new Float32Array(to - from)
    for (let i = 0; i < dense.length; i++)
      dense[i] = (this.#denseWeights[from + i]! - this.#oldDense[from + i]!) / this.#share
    if (halved) roundTrip(this.#coder, dense.subarray(0, halved.dense))
    for (let i = 0; i < dense.length; i++) this.#oldDense[from + i]! += dense[i]!
    return { groups: own, tableGroups, ...rows, touches, dense }
  }

  #takeOver({ groups, tableGroups, gradients, states, dense }: GeoMessage, { from }: Slice): void {
    for (const [t, group] of tableGroups.entries()) {
      const parts = { weights: gradients[t] as Float32Array, states: states[t] as Float32Array }
      this.#tables[t]!.take(groups[group]!, parts, this.#factors(t))
    }
    for (let i = 0; i < dense.length; i++) this.#denseWeights[from + i]! += dense[i]! - this.#oldDense[from + i]!
    this.#oldDense.set(dense as Float32Array, from)
  }

  #factors(table: number): StepFactors {
    return stepFactors(this.#options.local.tables[table]!.optimizer, this.#local.dense.steps + 1)
  }

  /** What all threads touched, each sign once, by group. */
  #distinctOf(touched: readonly Touched[]): readonly BigUint64Array[] {
    return this.#listsOf(touched).map((lists) => this.#merger.distinct(lists).signs)
  }

  /** The same with what was not sent before; `often`: without what was trained too seldom since. */
  async #take(touched: readonly Touched[], rows: 'all' | 'often'): Promise<readonly BigUint64Array[]> {
    const taken: BigUint64Array[] = []
    for (const [g, lists] of this.#listsOf(touched).entries()) {
      this.#unsent[g] ??= new UnsentRows(this.#tables[this.#groups[g]![0]!]!, this.#options.segments)
      taken[g] = rows === 'all' ? await this.#unsent[g].takeAll(lists) : this.#unsent[g].takeOften(lists, OFTEN)
    }
    return taken
  }

  /** What each batch of each thread touched, by group. */
  #listsOf(touched: readonly Touched[]): readonly BigUint64Array[][] {
    const first = touched.find((one) => one.length > 0)
    if (first) this.#groups = first.map(({ tables }) => tables)
    return this.#groups.map((_, g) => touched.flatMap((one) => one[g]?.signs ?? []))
  }

  #remember(signs: readonly BigUint64Array[]): void {
    for (const [g, own] of signs.entries()) {
      this.#behind[g] ??= new SignList(this.#merger)
      this.#behind[g].add(own)
    }
  }
}

/** What arrives of values that travel as float16: that is what the servers will have added. */
function roundTrip(coder: HalfCoder, values: Float32Array): void {
  coder.decode(coder.encode(values), values)
}

/** One server's part of signs grouped by server and segment. */
function partOf({ signs, lengths }: DistinctSigns, server: number, segments: number): DistinctSigns {
  const sum = (from: number, to: number) => lengths.subarray(from, to).reduce((total, length) => total + length, 0)
  const first = sum(0, server * segments)
  const own = lengths.subarray(server * segments, (server + 1) * segments)
  return { lengths: own, signs: signs.subarray(first, first + sum(server * segments, (server + 1) * segments)) }
}
