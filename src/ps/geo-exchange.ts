/** @file Geo on a worker: it trains its own copy of the model and now and then exchanges what has changed with the servers. */
import { type StepFactors, stepFactors } from '../optim/index.ts'
import { createLocalParams, LocalParams, type LocalParamsHandle } from '../params/index.ts'
import type { Program } from '../program/index.ts'
import { type DistinctSigns, SparseTable } from '../table/index.ts'
import { ADDING } from './geo-changes.ts'
import type { Placement, Slice } from './placement.ts'
import { decodePush, encodeGradients, METHODS, type PushRequest } from './protocol.ts'
import type { Call } from './remote-params.ts'
import { SignMerger } from './sign-merger.ts'
import type { Touched } from './touched.ts'

export interface GeoExchangeOptions {
  readonly call: Call
  readonly program: Program
  readonly seed: number
  readonly segments: number
  /** What the trainer threads of this worker train. */
  readonly local: LocalParamsHandle
  /** A thread number that no trainer has, and the one after it. */
  readonly thread: number
  readonly placement: Placement
  readonly slices: readonly Slice[]
  /** Workers of the job: each brings in its share of its changes. */
  readonly workers: number
}

const ADD = { step: 0, baseRate: -1, rate: -1, aux: 0 } as const

/**
 * By row and by dense weight, with `old` what the servers are known to hold:
 * send delta = (local - old) / workers, old += delta; the servers add it.
 * Take what changed there: local += server - old, old = server.
 */
export class GeoExchange {
  readonly #options: GeoExchangeOptions
  readonly #local: LocalParams
  /** The local tables, with adding in place of the optimizer's rule. */
  readonly #adding: readonly SparseTable[]
  readonly #old: LocalParams
  /** The weights themselves, shared with the trainer threads. */
  readonly #denseWeights: Float32Array
  readonly #oldDense: Float32Array
  readonly #merger: SignMerger
  #sequence = 0
  /** Rows exchanged in this epoch. */
  #behind: GroupSigns[] = []

  constructor(options: GeoExchangeOptions) {
    const { program, seed, segments, local, thread, placement } = options
    this.#options = options
    this.#local = new LocalParams(local, thread)
    this.#adding = local.tables.map((table) => {
      const layout = { ...table.layout, rule: { ...table.layout.rule, rule: 'sgd' as const } }
      return new SparseTable({ ...table, layout }, thread + 1)
    })
    this.#old = new LocalParams(
      createLocalParams({ program, optimizer: ADDING, plainTables: true, seed, segments, threads: 1 }),
      0,
    )
    const { buffer, byteOffset } = this.#local.dense.bytes()
    this.#denseWeights = new Float32Array(buffer, byteOffset, this.#local.dense.layout.floats)
    this.#oldDense = Float32Array.from(this.#denseWeights)
    this.#merger = new SignMerger(segments, placement)
  }

  /** Exchanges with all servers; no thread of this worker may train meanwhile. */
  run(touched: readonly Touched[]): Promise<void> {
    const groups = touchedByGroup(touched, this.#merger)
    this.#behind.push(...groups)
    return this.#exchange(groups, this.#options.workers)
  }

  /**
   * The last exchange of an epoch also brings in what the others held back: of a row that is trained now and then, only a
   * share has reached the servers so far. What remains is what endless further exchanges would bring.
   */
  async settle(touched: readonly Touched[]): Promise<void> {
    const behind = [...this.#behind, ...touchedByGroup(touched, this.#merger)]
    this.#behind = []
    const tables = [...new Map(behind.map((group) => [group.tables.join(), group.tables])).values()]
    const groups = tables.map((own) => ({
      tables: own,
      distinct: this.#merger.distinct(
        behind.flatMap((group) => (group.tables.join() === own.join() ? [group.distinct.signs] : [])),
      ),
    }))
    await this.#exchange(groups, 1)
  }

  /** Sends 1 / share of the rows' changes. */
  async #exchange(groups: readonly GroupSigns[], share: number): Promise<void> {
    const { call, slices } = this.#options
    const sequence = ++this.#sequence
    const answers = await Promise.all(
      slices.map(async (slice, server) => {
        const parts = encodeGradients(this.#deltas(groups, share, server, slice), sequence)
        const dims = this.#local.tables.map(({ dim }) => dim)
        return call(server, METHODS.geo, parts, `geo exchange ${sequence}`, (answer) =>
          decodePush(answer.slice(), 'float32', dims, slice.to - slice.from),
        )
      }),
    )
    for (const [server, answer] of answers.entries()) this.#take(answer, slices[server]!)
  }

  #deltas(groups: readonly GroupSigns[], share: number, server: number, { from, to }: Slice) {
    const { segments, workers } = this.#options
    const own = groups.map(({ distinct }) => partOf(distinct, server, segments))
    const tables = groups.length > 0 ? this.#local.tables : []
    const tableGroups = tables.map((_, t) => groups.findIndex((group) => group.tables.includes(t)))
    const gradients = tables.map((table, t) => {
      const signs = own[tableGroups[t]!]!
      const delta = rowsOf(table, signs, this.#factors(t))
      const old = rowsOf(this.#old.tables[t]!, signs)
      for (let i = 0; i < delta.length; i++) delta[i] = (delta[i]! - old[i]!) / share
      this.#old.tables[t]!.update(signs, delta, ADD)
      return delta
    })
    const dense = new Float32Array(to - from)
    for (let i = 0; i < dense.length; i++) {
      dense[i] = (this.#denseWeights[from + i]! - this.#oldDense[from + i]!) / workers
      this.#oldDense[from + i]! += dense[i]!
    }
    return { groups: own, tableGroups, gradients, dense }
  }

  #take({ groups, tableGroups, gradients, dense }: PushRequest, { from }: Slice): void {
    for (const [t, group] of tableGroups.entries()) {
      const signs = groups[group]!
      const change = gradients[t] as Float32Array
      const old = rowsOf(this.#old.tables[t]!, signs)
      for (let i = 0; i < change.length; i++) change[i]! -= old[i]!
      this.#old.tables[t]!.update(signs, change, ADD)
      // Rows of an Adam that is not lazy are first brought up to date; adding is no step of theirs.
      const factors = this.#factors(t)
      rowsOf(this.#adding[t]!, signs, factors)
      this.#adding[t]!.update(signs, change, { ...ADD, step: factors.step - 1, baseRate: factors.baseRate })
    }
    for (let i = 0; i < dense.length; i++) {
      this.#denseWeights[from + i]! += dense[i]! - this.#oldDense[from + i]!
      this.#oldDense[from + i] = dense[i]!
    }
  }

  #factors(table: number): StepFactors {
    return stepFactors(this.#options.local.tables[table]!.optimizer, this.#local.dense.steps + 1)
  }
}

interface GroupSigns {
  readonly tables: readonly number[]
  readonly distinct: DistinctSigns
}

/** What all threads touched, each sign once, by the tables that share signs. */
function touchedByGroup(touched: readonly Touched[], merger: SignMerger): readonly GroupSigns[] {
  const first = touched.find((one) => one.length > 0) ?? []
  return first.map(({ tables }, g) => ({
    tables,
    distinct: merger.distinct(touched.flatMap((one) => one[g]?.signs ?? [])),
  }))
}

/** One server's part of signs grouped by server and segment. */
function partOf({ signs, lengths }: DistinctSigns, server: number, segments: number): DistinctSigns {
  const sum = (from: number, to: number) => lengths.subarray(from, to).reduce((total, length) => total + length, 0)
  const first = sum(0, server * segments)
  const own = lengths.subarray(server * segments, (server + 1) * segments)
  return { lengths: own, signs: signs.subarray(first, first + sum(server * segments, (server + 1) * segments)) }
}

function rowsOf(table: SparseTable, signs: DistinctSigns, factors?: StepFactors): Float32Array {
  const rows = new Float32Array(signs.signs.length * table.dim)
  table.lookup(signs, rows, true, factors)
  return rows
}
