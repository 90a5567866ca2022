/**
 * @file Params of a thread that keeps rows for some batches: those that come again meanwhile are not pulled again, and their gradients go
 * to the servers as one sum. Knows nothing of servers.
 */
import type { TraceContext } from '../../base/trace/index.ts'
import type { BatchParams, BatchRows, DenseWindow, LinkCount, Params } from '../../weights/params/index.ts'
import type { DistinctSigns } from '../../weights/table/index.ts'
import { type Parted, RecentRows } from './recent-rows.ts'
import type { RemoteParams } from './remote-params.ts'

export interface KeptRows {
  /** Rows of so many signs are kept, of tables that look up the same. */
  readonly rows: number
  /** For so many batches. */
  readonly batches: number
  /** Floats of a row, by table. */
  readonly dims: readonly number[]
}

/** A batch that has not been pushed: which of its rows were asked for. */
interface UnderWay {
  readonly parted: readonly Parted[]
  readonly tables: readonly BatchRows[]
}

/** Tables that look up the same signs, by their places in a batch. */
interface Group {
  readonly recent: RecentRows
  readonly tables: readonly number[]
}

const NONE = new Float32Array(0)

export class HotRowsParams implements Params {
  readonly window: DenseWindow | undefined
  readonly links: readonly LinkCount[] | undefined
  readonly #inner: RemoteParams
  readonly #options: KeptRows
  /** Known from the first batch on. */
  #groups: readonly Group[] = []
  /** Servers times segments, by which a batch's signs are grouped. */
  #buckets = 0
  /** In the order in which they were asked for, which is that of their pushes. */
  readonly #underWay: (UnderWay | undefined)[] = []
  /** Since rows were last forgotten. */
  #pushed = 0
  /** Room of batches that were pushed, by table. */
  readonly #rooms: Float32Array[][] = []

  constructor(inner: RemoteParams, options: KeptRows) {
    this.#inner = inner
    this.#options = options
    this.window = inner.window
    this.links = inner.links
  }

  traced(context: TraceContext): void {
    this.#inner.traced(context)
  }

  pull(share: BatchParams, insert: boolean): Promise<void> {
    if (!insert) return this.#inner.pull(share, insert)
    if (share.tables.length === 0) {
      this.#underWay.push(undefined)
      return this.#inner.pull(share, insert)
    }
    if (this.#groups.length === 0) this.#groups = this.#groupsOf(share)
    const parted = this.#groups.map(({ recent, tables }) =>
      recent.part(share.tables[tables[0]!]!.distinct, valuesOf(share.tables, tables, 'rows')),
    )
    const own = this.#tablesFor(parted)
    this.#underWay.push({ parted, tables: own })
    return this.#inner.pull({ ...share, tables: own }, true).then(() => {
      for (const [g, { recent, tables }] of this.#groups.entries())
        recent.take(parted[g]!, valuesOf(own, tables, 'rows'), valuesOf(share.tables, tables, 'rows'))
    })
  }

  refresh(share: BatchParams): void | Promise<void> {
    return this.#inner.refresh(share)
  }

  async push(share: BatchParams): Promise<number> {
    const batch = this.#underWay.shift()
    if (!batch || share.tables.length === 0) return this.#inner.push(share)
    for (const [g, { recent, tables }] of this.#groups.entries()) {
      const own = valuesOf(batch.tables, tables, 'gradients')
      recent.give(batch.parted[g]!, valuesOf(share.tables, tables, 'gradients'), own)
    }
    const sent = this.#inner.push({ ...share, tables: batch.tables })
    this.#keep(batch.tables)
    const step = await sent
    this.#pushed++
    if (this.#pushed >= this.#options.batches) await this.#sumUp()
    return step
  }

  skip(): Promise<void> {
    return this.#inner.skip()
  }

  /** Every gradient is with the servers when this returns. */
  async flush(): Promise<void> {
    this.#underWay.length = 0
    await this.#sumUp()
    await this.#inner.flush()
  }

  /** What was added up goes to the servers, and rows are pulled anew from then on. */
  async #sumUp(): Promise<void> {
    this.#pushed = 0
    const sums = this.#groups.map(({ recent }) => recent.sumUp(this.#buckets))
    if (sums.every(({ distinct }) => distinct.signs.length === 0)) return
    const made = this.#tablesFor(sums)
    const countsOf = (t: number) => sums[this.#groups.findIndex(({ tables }) => tables.includes(t))]!.counts
    const all = made.map((table, t) => ({ ...table, showClick: countsOf(t) }))
    for (const [g, { tables }] of this.#groups.entries())
      for (const [i, t] of tables.entries()) all[t]!.gradients.set(sums[g]!.gradients[i]!)
    const sent = this.#inner.push({ samples: 0, tables: all, weights: NONE, gradients: NONE })
    this.#keep(all)
    await sent
  }

  #groupsOf({ tables }: BatchParams): Group[] {
    this.#buckets = tables[0]!.distinct.lengths.length
    return [...new Set(tables.map(({ distinct }) => distinct))].map((distinct) => {
      const own = tables.flatMap((table, t) => (table.distinct === distinct ? [t] : []))
      const dims = own.map((t) => this.#options.dims[tables[t]!.table]!)
      return { recent: new RecentRows(dims, this.#options.rows), tables: own }
    })
  }

  /** Tables with room for what is asked for of each group. Rows have been taken when gradients come: they share it. */
  #tablesFor(groups: readonly { readonly distinct: DistinctSigns }[]): BatchRows[] {
    const made: BatchRows[] = []
    for (const [g, { tables }] of this.#groups.entries()) {
      const { distinct } = groups[g]!
      for (const t of tables) {
        const room = this.#room(t, distinct.signs.length * this.#options.dims[t]!)
        made[t] = { table: t, distinct, rows: room, gradients: room }
      }
    }
    return made
  }

  #room(table: number, floats: number): Float32Array {
    const room = this.#rooms[table]?.pop()
    const whole = room && room.length >= floats ? room : new Float32Array(Math.ceil(1.25 * floats))
    return whole.subarray(0, floats)
  }

  #keep(tables: readonly BatchRows[]): void {
    for (const { table, rows } of tables) {
      this.#rooms[table] ??= []
      this.#rooms[table].push(new Float32Array(rows.buffer))
    }
  }
}

function valuesOf(
  tables: readonly BatchRows[],
  which: readonly number[],
  values: 'rows' | 'gradients',
): readonly Float32Array[] {
  return which.map((t) => tables[t]![values])
}
