/** @file Parameters of data-parallel training: every rank computes its own batch, all ranks take one step together. */

import type { Program } from '../../../graph/program/index.ts'
import type { Clip } from '../../../weights/optim/index.ts'
import type {
  BatchParams,
  BatchRows,
  LocalParams,
  LocalParamsHandle,
  Params,
  Values,
} from '../../../weights/params/index.ts'
import { type LinkCount, newLink } from '../../../weights/params/index.ts'
import { attachGroup, type GroupHandle } from '../../collective/index.ts'
import { type ClipContext, clipMerged } from './clip-merged.ts'
import { countedRanks } from './counted-ranks.ts'
import { DenseReducer, type DenseReducerOptions } from './dense-reducer.ts'
import { changedParts, type PartsMask } from './parts-mask.ts'
import { gatherRound, type Round } from './round.ts'
import { KernelUnion, type OpenUnion } from './sign-union.ts'
import { TableExchange } from './table-exchange.ts'

export interface ParallelOptions<V extends Values = Float32Array> extends DenseReducerOptions<V>, ClipContext {
  /** The weights of this process. */
  readonly inner: Params<V>
  readonly program: Pick<Program, 'state' | 'tables'>
  /** By table: which slot group it belongs to. Tables of one group look up the same signs. */
  readonly groups: readonly number[]
  /** By table: its rows count show and click. */
  readonly counted: readonly boolean[]
  readonly segments: number
  readonly open: OpenUnion<V>
  readonly zeros: (length: number) => V
  readonly clip?: Clip | undefined
  /** What the calls of `ranks` are counted by. */
  readonly links?: readonly LinkCount[] | undefined
  /** Steps of ranks may have gradients for different weights. @default false */
  readonly differ?: boolean | undefined
}

export class ParallelParams<V extends Values = Float32Array> implements Params<V> {
  /** To the other ranks. */
  readonly links: readonly LinkCount[] | undefined
  /** A rank was asked to stop. */
  stopping = false
  #announcing = false
  readonly #options: ParallelOptions<V>
  readonly #reducer: DenseReducer<V>
  readonly #exchanges: readonly TableExchange<V>[]
  /** Into how many parts signs are dealt: ranks, or one where no table is. */
  readonly #owners: number
  readonly #mask: PartsMask | undefined
  #round: Round | undefined
  /** What the step under way has pulled. */
  #pulled: BatchParams<V> | undefined
  #reducing: Promise<void> | undefined

  constructor(options: ParallelOptions<V>) {
    const { ranks, groups, sharded, open, program, layout } = options
    this.#options = options
    this.links = options.links
    this.#owners = sharded.includes(true) ? ranks.size : 1
    this.#reducer = new DenseReducer(options)
    this.#mask = options.differ ? changedParts(layout, program) : undefined
    this.#exchanges = [...new Set(groups)].flatMap((group) =>
      [false, true].flatMap((isSharded) => {
        const tables = groups.flatMap((own, t) => (own === group && sharded[t] === isSharded ? [t] : []))
        const dims = tables.map((t) => program.tables[t]!.dim)
        return tables.length === 0 ? [] : [new TableExchange({ ranks, group, tables, dims, sharded: isSharded, open })]
      }),
    )
  }

  /** Whether looking rows up takes all ranks. */
  get isSharded(): boolean {
    return this.#owners > 1
  }

  async pull(share: BatchParams<V>, insert: boolean): Promise<void> {
    const { inner } = this.#options
    if (this.isSharded) return this.#pull(share, insert, await this.#gatherRound(share, false))
    // What a rank needs it has: ranks exchange once a step, when gradients are there.
    if (insert) this.#pulled = share
    await inner.pull(share, insert)
  }

  /** Dense gradients are there before those of rows: they travel while these are merged. */
  begin(share: BatchParams<V>): void {
    this.#mask?.blank(share)
    this.#reducing = this.#begin(share)
    this.#reducing.catch(() => undefined) // thrown by push, which waits for it
  }

  async #begin({ gradients, weights }: BatchParams<V>): Promise<void> {
    if (!this.isSharded) await this.#gatherRound(this.#pulled!, false)
    await this.#reducer.begin(gradients, weights, this.#known().weight)
  }

  async push(share: BatchParams<V>): Promise<number> {
    if (!this.#reducing) this.begin(share)
    await this.#reducing
    this.#reducing = undefined
    return this.#apply(share)
  }

  async #apply(share: BatchParams<V>): Promise<number> {
    const { inner, clip, ranks, layout, sharded } = this.#options
    const round = this.#known()
    const gradients = await this.#reducer.finish(share.gradients, share.weights, round.weight)
    const tables: BatchRows<V>[] = []
    for (const exchange of this.#exchanges) {
      const pushed = this.#pushedOf(share, exchange)
      if (!this.isSharded) await exchange.ask(pushed[0]!.distinct.signs, round)
      const merged = await exchange.gradients(pushed, round)
      tables.push(...(this.isSharded ? merged : merged.map((one) => ({ ...one, unseen: true }))))
    }
    const changed = this.#mask && (await this.#mask.allReduce(ranks, share, round))
    const merged = {
      samples: round.samples,
      tables: changed ? tables.filter(({ table }) => changed.tables.has(table)) : tables,
      weights: share.weights,
      gradients,
      dense: changed?.dense,
    }
    if (clip) await clipMerged(clip, merged, { ranks, layout, sharded })
    return inner.push(merged)
  }

  /** This rank was asked to stop: the next round says so. */
  announce(): void {
    this.#announcing = true
  }

  flush(): void {}

  /**
   * Takes part without samples until no rank has any more; this is how every pass ends. `stopping` makes the others end
   * theirs.
   */
  async drain(training: boolean, stopping: boolean): Promise<void> {
    if (!training && !this.isSharded) return
    const share = this.#nothing()
    for (;;) {
      const round = await this.#gatherRound(share, stopping)
      if (round.samples === 0) return
      if (this.isSharded) await this.#pull(share, training, round)
      this.#pulled = share
      if (!training) continue
      await this.#reducer.begin(share.gradients, share.weights, 0)
      await this.#apply(share)
    }
  }

  async #gatherRound(share: BatchParams<V>, stopping: boolean): Promise<Round> {
    const counts = this.#groupNumbers().flatMap((group) => {
      const table = share.tables.find((own) => this.#options.groups[own.table] === group)
      return this.#countsOf(table)
    })
    const own = { samples: share.samples, stopping: stopping || this.#announcing, counts }
    this.#round = await gatherRound(this.#options.ranks, own, this.#owners)
    this.stopping ||= this.#round.stopping
    return this.#round
  }

  async #pull(share: BatchParams<V>, insert: boolean, round: Round): Promise<void> {
    const { inner } = this.#options
    this.#pulled = share
    const alone = ({ sharded }: TableExchange<V>) => !insert && !sharded
    const asked: BatchRows<V>[] = []
    for (const exchange of this.#exchanges) {
      const { signs } = this.#sharesOf(share, exchange)[0]!.distinct
      asked.push(...(alone(exchange) ? exchange.askAlone(signs) : await exchange.ask(signs, round)))
    }
    await inner.pull({ ...share, tables: asked }, insert)
    for (const exchange of this.#exchanges) {
      const shares = this.#sharesOf(share, exchange)
      if (alone(exchange)) exchange.rowsAlone(shares)
      else await exchange.rows(shares, round)
    }
  }

  #known(): Round {
    if (!this.#round) throw new Error('internal: a push without a pull')
    return this.#round
  }

  #groupNumbers(): number[] {
    return [...new Set(this.#options.groups)]
  }

  #sharesOf(share: BatchParams<V>, { tables }: TableExchange<V>): readonly BatchRows<V>[] {
    return tables.map((table) => share.tables.find((own) => own.table === table) ?? this.#noSigns(table))
  }

  /** Of tables that were looked up and have no gradients: zeros, since other ranks may have some. */
  #pushedOf(share: BatchParams<V>, exchange: TableExchange<V>): readonly BatchRows<V>[] {
    const { zeros } = this.#options
    return this.#sharesOf(this.#pulled!, exchange).map(
      (pulled) =>
        share.tables.find(({ table }) => table === pulled.table) ?? {
          ...pulled,
          gradients: zeros(pulled.gradients.length),
        },
    )
  }

  /** Distinct signs come owner after owner, and of each owner segment after segment. */
  #countsOf(table: BatchRows<V> | undefined): number[] {
    if (!table) return Array<number>(this.#owners).fill(0)
    const { lengths, signs } = table.distinct
    if (this.#owners === 1) return [signs.length]
    const { segments } = this.#options
    return Array.from({ length: this.#owners }, (_, owner) =>
      lengths.subarray(owner * segments, (owner + 1) * segments).reduce((sum, length) => sum + length, 0),
    )
  }

  #nothing(): BatchParams<V> {
    const { program, layout, zeros } = this.#options
    const tables = program.tables.map((_, table) => this.#noSigns(table))
    return { samples: 0, tables, weights: zeros(layout.floats), gradients: zeros(layout.floats) }
  }

  #noSigns(table: number): BatchRows<V> {
    const { segments, zeros, counted } = this.#options
    const distinct = { signs: new BigUint64Array(0), lengths: new Uint32Array(this.#owners * segments) }
    const showClick = counted[table] ? new Float32Array(0) : undefined
    return { table, distinct, rows: zeros(0), gradients: zeros(0), showClick }
  }
}

/** A trainer thread's way to weights that ranks train in step: plain data, shared memories and a handle of the group. */
export interface ParallelHandle {
  readonly kind: 'parallel'
  readonly local: LocalParamsHandle
  /** Its port goes into the transfer list. */
  readonly group: GroupHandle
  readonly program: Pick<Program, 'state' | 'tables'>
  /** By table: its slot group; whether every rank has its own part of the rows. */
  readonly groups: readonly number[]
  readonly sharded: readonly boolean[]
  readonly segments: number
  /** Steps of ranks may have gradients for different weights. */
  readonly differ: boolean
}

export function openParallel(handle: ParallelHandle, local: LocalParams, clip: Clip | undefined): ParallelParams {
  const { group, segments } = handle
  const { dense } = local
  const link = newLink(`rank-${(group.rank + 1) % group.size}`)
  return new ParallelParams({
    ...handle,
    ranks: countedRanks(attachGroup(group), link),
    links: group.size > 1 ? [link] : [],
    inner: local,
    layout: dense.layout,
    room: { values: dense.room, put: (from, start, end, factor) => dense.putWeighed(from, start, end, factor) },
    counted: local.tables.map(({ accessor }) => accessor !== undefined),
    open: (dims) => new KernelUnion(dims, segments),
    zeros: (length) => new Float32Array(length),
    clip,
  })
}
