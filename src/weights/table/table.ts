/** @file A sparse table on segments: rows by 64-bit sign, each with its optimizer state, shared by all threads of a process. */
import {
  type AccessorConfig,
  attachSegments,
  createSegmentMemory,
  type KernelMemory,
  type KernelRule,
  MAX_THREADS,
  type RowInit,
  type RowLayout,
  type RowPrecision,
  rowBytes,
  type WeightShape,
  weightShape,
} from '../../base/kernel/index.ts'
import { deriveSeed } from '../../base/util/index.ts'
import { kernelRule, type OptimizerSpec, type StepFactors } from '../optim/index.ts'
import { RowTier, type TierOptions } from './row-tier.ts'
import { CHANGED, SCAN_ROWS, SegmentView, tableFull } from './segment-view.ts'

export interface TableOptions {
  readonly name: string
  readonly dim: number
  readonly init: RowInit
  readonly optimizer: OptimizerSpec
  /** The job's seed; initial values are a pure function of (seed, name, sign). */
  readonly seed: number
  /** Rows with show and click, whose rules these are; `init` and `optimizer` do not matter then. */
  readonly accessor?: AccessorConfig | undefined
  /** How rows keep their weights. @default float32 */
  readonly precision?: RowPrecision | undefined
  /** Rows remember what servers hold of them; so much is left of each run of state that is exchanged by an update. @default they do not */
  readonly copied?: readonly number[] | undefined
  /** How many segments, a power of two; each holds up to 4 GiB. @default 4 */
  readonly segments?: number | undefined
}

/** A table as plain data plus shared memories: goes to other threads by postMessage. */
export interface TableHandle {
  readonly name: string
  readonly layout: RowLayout
  readonly memories: readonly KernelMemory[]
}

export type { AccessorConfig, RowPrecision } from '../../base/kernel/index.ts'

export const DEFAULT_SEGMENTS = 4

/** A new, empty table. */
export function createTable(options: TableOptions): TableHandle {
  const { name, dim, init, optimizer, seed, accessor, copied, segments = DEFAULT_SEGMENTS } = options
  const { precision = 'float32' } = options
  if (copied && precision !== 'float32') throw new Error(`internal: exchanged rows of ${name} are float32`)
  if (!Number.isInteger(Math.log2(segments))) throw new Error(`internal: ${segments} segments are not a power of two`)
  const own = {
    dim,
    rule: kernelRule(optimizer),
    seed: deriveSeed(seed, `table:${name}`),
    init,
    precision,
    ...(copied && { exchange: { decays: copied, copied: true } }),
  }
  // A sign without a row is zeros where there is an accessor.
  const zeros = { init: { kind: 'constant', value: 0 }, rule: { ...own.rule, clocked: false } } as const
  const kept = accessor && precision !== 'float32' ? { ...accessor, precision } : accessor
  const layout: RowLayout = kept ? { ...own, ...zeros, accessor: kept } : own
  const memories = Array.from({ length: segments }, createSegmentMemory)
  for (const kernel of attachSegments(memories, 0, layout)) kernel.create()
  return { name, layout, memories }
}

/** An empty table whose rows are those of another: of the same width, state and first values. */
export function emptyTableLike<T extends TableHandle>(handle: T): T {
  const memories = handle.memories.map(createSegmentMemory)
  for (const kernel of attachSegments(memories, 0, handle.layout)) kernel.create()
  return { ...handle, memories }
}

/** The distinct signs of a batch, segment after segment; lengths[s] of them belong to segment s. */
export interface DistinctSigns {
  readonly signs: BigUint64Array
  readonly lengths: Uint32Array
}

/** What a push brings to an accessor's rows. */
export interface AccessorPush {
  /** [distinct, dim], of a batch's mean loss. */
  readonly gradients: Float32Array
  /** [distinct, 3]: slot, show and click of each sign. */
  readonly showClick: Float32Array
  /** Samples of the batch: makes the gradients those of the sum, which the rules expect. */
  readonly samples: number
  /** The step: entry policies draw anew in each. */
  readonly step: number
}

/** Paddle's save modes: everything, what gained score since the last delta, what is worth serving, everything at a day's end. */
export const SAVE_MODES = { all: 0, delta: 1, base: 2, batch: 3 } as const
export type SaveMode = (typeof SAVE_MODES)[keyof typeof SAVE_MODES]

/**
 * A table as one thread uses it. A lookup and the update that follows it belong to the same batch; where lookups of several
 * batches come before their updates, each batch has an address list of its own, which remembers where its rows are.
 */
export class SparseTable {
  readonly name: string
  readonly dim: number
  readonly segmentBits: number
  /** What the rows do besides holding weights; undefined: nothing. */
  readonly accessor: AccessorConfig | undefined
  readonly #segments: readonly SegmentView[]
  readonly #layout: RowLayout
  /** The segment that took the last rows loaded. */
  #loading = 0
  /** Rows beyond a memory limit, where this thread keeps them. */
  #tier: RowTier | undefined

  constructor(handle: TableHandle, thread: number) {
    if (thread >= MAX_THREADS) throw new Error(`internal: thread ${thread} of at most ${MAX_THREADS}`)
    this.name = handle.name
    this.dim = handle.layout.dim
    this.segmentBits = Math.log2(handle.memories.length)
    this.#layout = handle.layout
    this.accessor = handle.layout.accessor
    const kernels = attachSegments(handle.memories, thread, handle.layout)
    this.#segments = kernels.map((kernel, i) => new SegmentView(kernel, handle.memories[i]!, handle.layout))
  }

  /** From now on this thread keeps the table within a memory limit; it alone brings rows in and takes them out. */
  openTier(options: TierOptions): RowTier {
    const { name, segmentBits } = this
    this.#tier = new RowTier({ name, segmentBits, segments: this.#segments, layout: this.#layout }, options)
    return this.#tier
  }

  get tier(): RowTier | undefined {
    return this.#tier
  }

  /** Copies the weights of `distinct` to `rows` ([distinct, dim]), if given; absent rows are created if `insert`, else only imagined. */
  lookup(
    distinct: DistinctSigns,
    rows: Float32Array | undefined,
    insert: boolean,
    factors?: StepFactors,
    addressList = 0,
  ): void {
    this.#tier?.ensure(distinct)
    let first = 0
    for (const [s, segment] of this.#segments.entries()) {
      const n = distinct.lengths[s]!
      if (n === 0) continue
      segment.fit(n, this.name)
      segment.signs.set(distinct.signs.subarray(first, first + n))
      const { kernel, signsAt, addressesAt, rowsAt } = segment
      if (this.accessor) kernel.pull(signsAt, n, addressesAt, rowsAt)
      else {
        if (factors) kernel.setClock(factors.step, factors.baseRate)
        const addresses = segment.addresses(addressList, n, this.name)
        if (kernel.lookup(signsAt, n, addresses, rowsAt, insert ? 1 : 0) < 0) throw tableFull(this.name, this.rowCount)
      }
      rows?.set(segment.rows.subarray(0, n * this.dim), first * this.dim)
      first += n
    }
  }

  /** A copy of one row, weight and state; undefined where there is none. */
  row(distinct: DistinctSigns): Uint8Array<ArrayBuffer> | undefined {
    this.lookup(distinct, new Float32Array(this.dim), false)
    const own = this.#segments[distinct.lengths.indexOf(1)]!
    return own.firstFound()
  }

  /** Applies merged gradients ([distinct, dim]) to the rows that the last lookup with this address list found. */
  update(distinct: DistinctSigns, gradients: Float32Array, factors: StepFactors, l2 = 0, addressList = 0): void {
    let first = 0
    for (const [s, segment] of this.#segments.entries()) {
      const n = distinct.lengths[s]!
      if (n === 0) continue
      segment.rows.set(gradients.subarray(first * this.dim, (first + n) * this.dim))
      // Another batch may have been looked up since. Only rounding asks for signs.
      if (this.precision !== 'float32') segment.signs.set(distinct.signs.subarray(first, first + n))
      first += n
      const { kernel, signsAt, rowsAt } = segment
      kernel.setStep(factors.rate, factors.aux, l2)
      kernel.setClock(factors.step, factors.baseRate)
      kernel.update(signsAt, segment.addresses(addressList, n, this.name), rowsAt, n)
    }
  }

  /** What an accessor's rows do with a batch: signs are counted, rows made where the entry policy admits them, rules applied. */
  push(distinct: DistinctSigns, { gradients, showClick, samples, step }: AccessorPush): void {
    this.#tier?.ensure(distinct)
    let first = 0
    for (const [s, segment] of this.#segments.entries()) {
      const n = distinct.lengths[s]!
      if (n === 0) continue
      segment.fit(n, this.name)
      segment.signs.set(distinct.signs.subarray(first, first + n))
      segment.rows.set(gradients.subarray(first * this.dim, (first + n) * this.dim))
      segment.showClick.set(showClick.subarray(first * 3, (first + n) * 3))
      first += n
      const { signsAt, addressesAt, rowsAt, showClickAt, kernel } = segment
      if (kernel.push(signsAt, n, addressesAt, rowsAt, showClickAt, samples, BigInt(step)) < 0)
        throw tableFull(this.name, this.rowCount)
    }
  }

  /** A day has passed: show and click fade, an accessor's rows that are worth too little go. Returns how many. No thread may work meanwhile. */
  shrink(): number {
    if (!this.accessor) return 0
    // The disk first: what memory has by now must not come back from there.
    const cold = this.#tier?.shrink() ?? 0
    return this.#segments.reduce((sum, { kernel }) => sum + (kernel.shrink() >>> 0), cold)
  }

  /** After a save of `mode`: the deltas it wrote start anew, or its day is over. No thread may work meanwhile. */
  settle(mode: SaveMode): void {
    if (!this.accessor) return
    this.#tier?.settle(mode)
    for (const { kernel } of this.#segments) kernel.settle(mode)
  }

  get rowCount(): number {
    return this.#segments.reduce((sum, { kernel }) => sum + kernel.rowCount(), this.#tier?.rows ?? 0)
  }

  /** Bytes of index, rows and scratch in use. */
  get usedBytes(): number {
    return this.#tier?.memoryBytes ?? this.#segments.reduce((sum, { kernel }) => sum + kernel.usedBytes(), 0)
  }

  /** Bytes of a row: weight, optimizer state and, where the optimizer asks for it, the step of its last update. */
  get rowBytes(): number {
    return rowBytes(this.#layout)
  }

  get rule(): KernelRule {
    return this.#layout.rule
  }

  /** How rows keep their weights. */
  get precision(): RowPrecision {
    return this.#layout.precision
  }

  /** Where in a row its weights are: for those who look at rows as they are stored. */
  get weightShape(): WeightShape {
    return weightShape(this)
  }

  /**
   * Stores whole rows as scan() gives them, over those of the same sign. Rows saved segment by segment load fastest; where the table surely
   * has none of them (`areNew`), a disk below it is not asked.
   */
  load(signs: BigUint64Array, rows: Uint8Array, areNew = false): void {
    const block = this.#tier?.blockRows ?? SCAN_ROWS
    for (let first = 0; first < signs.length; first += block) {
      const last = Math.min(signs.length, first + block)
      this.#loadSome(signs.subarray(first, last), rows.subarray(first * this.rowBytes, last * this.rowBytes), areNew)
    }
  }

  /**
   * Gives every sign that has no row here the one that it has in `from`, a table like this one. Where it has none there either, a new
   * one, unless this table has an accessor, which makes its rows by pushes. Returns how many were copied.
   */
  copyFrom(from: SparseTable, distinct: DistinctSigns): number {
    let [first, copied] = [0, 0]
    for (const [s, segment] of this.#segments.entries()) {
      const all = distinct.signs.subarray(first, first + distinct.lengths[s]!)
      first += all.length
      for (let at = 0; at < all.length; at += SCAN_ROWS) {
        const absent = segment.absent(all.subarray(at, at + SCAN_ROWS), this.name)
        const found = from.#segments[s]!.read(absent, this.name)
        if (segment.write(found.signs, found.rows, 0, 0, this.name) < 0) throw tableFull(this.name, this.rowCount)
        copied += found.signs.length
        if (!this.accessor) segment.insert(segment.absent(all.subarray(at, at + SCAN_ROWS), this.name), this.name)
      }
    }
    return copied
  }

  /** One segment's rows, over those of the same sign in `into`, a table like this one: with `insert` those it lacks too. Returns how many. */
  copyTo(into: SparseTable, segment: number, insert: boolean): number {
    let copied = 0
    const to = into.#segments[segment]!
    for (const { signs, rows } of this.#segments[segment]!.scan(this.name)) {
      const written = to.write(signs, rows, 0, 0, this.name, insert)
      if (written < 0) throw tableFull(this.name, into.rowCount)
      copied += written
    }
    return copied
  }

  /** Forgets every row, and keeps the memory for others. No thread may work meanwhile. */
  clear(): void {
    this.#tier?.clear()
    for (const { kernel } of this.#segments) kernel.clear()
  }

  /** Each segment takes its own from all, beginning with the one that took the last; mostly that one takes them all. */
  #loadSome(signs: BigUint64Array, rows: Uint8Array, areNew: boolean): void {
    const n = areNew ? (this.#tier?.store(signs, rows) ?? signs.length) : signs.length
    if (!areNew) this.#tier?.expect(signs)
    const count = this.#segments.length
    let left = n
    for (let turn = 0; turn < count && left > 0; turn++) {
      const s = (this.#loading + turn) % count
      const some = [signs.subarray(0, n), rows.subarray(0, n * this.rowBytes)] as const
      const taken = this.#segments[s]!.write(...some, this.segmentBits, s, this.name)
      if (taken < 0) throw tableFull(this.name, this.rowCount)
      left -= taken
      if (left === 0) this.#loading = s
    }
  }

  /**
   * Every row with its state, in no particular order, as views that are valid until the next step. No thread may insert
   * meanwhile. With `mode` those of an accessor's rows that such a save writes.
   */
  *scan(
    mode?: SaveMode,
  ): Generator<{ readonly signs: BigUint64Array; readonly rows: Uint8Array; readonly rowBytes: number }> {
    const own = this.accessor ? mode : undefined
    this.#tier?.finish()
    for (const segment of this.#segments) yield* segment.scan(this.name, own)
    if (this.#tier) yield* this.#tier.scan(own)
  }

  /** The same of rows that were made, updated or loaded since `forgetChanges`; a few others may be among them. */
  *changed(): ReturnType<SparseTable['scan']> {
    for (const segment of this.#segments) yield* segment.scan(this.name, CHANGED)
  }

  /** Rows have gone since then, or all of them changed: what is told by `changed` does not tell that. */
  get isChangedWholly(): boolean {
    return this.#tier !== undefined || this.#segments.some(({ kernel }) => kernel.allMarked())
  }

  /** What has changed so far is kept elsewhere. No thread may work meanwhile. */
  forgetChanges(): void {
    for (const { kernel } of this.#segments) kernel.unmark()
  }
}
