/** @file One segment of a table as one thread sees it: the kernel, and this thread's scratch in the segment's memory. */
import {
  EVICTION_GRADES,
  type KernelMemory,
  type RowLayout,
  rowBytes,
  type SegmentKernel,
} from '../../base/kernel/index.ts'
import { UserError } from '../../base/util/index.ts'

export const SCAN_ROWS = 4096 // a page has at most 256, so a scan always moves on

/** Mode of a scan: rows that changed since that was last forgotten. */
export const CHANGED = -2

/** Which rows may go, and which of them first: see assembly/segment-tier.ts. */
export interface EvictionRule {
  readonly kind: number
  readonly now: number
  readonly oldest: number
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4))
const MOST_PAUSES = 100_000

/** A segment's kernel and this thread's scratch in its memory. */
export class SegmentView {
  readonly kernel: SegmentKernel
  readonly #memory: KernelMemory
  readonly #dim: number
  readonly #rowBytes: number
  readonly #counts: boolean
  #capacity = 0
  /** Room for SCAN_ROWS whole rows, made when first needed. */
  #whole: { signsAt: number; rowsAt: number; nextAt: number } | undefined
  /** Room for a flag a row, and for counts by grade. */
  #marks: { flagsAt: number; countsAt: number } | undefined
  /** By address list, beside the first. */
  readonly #addresses: { readonly at: number; readonly capacity: number }[] = []
  signsAt = 0
  addressesAt = 0
  rowsAt = 0
  signs: BigUint64Array = new BigUint64Array()
  rows: Float32Array = new Float32Array()
  /** Slot, show and click by sign: only of an accessor's table. */
  showClickAt = 0
  showClick: Float32Array = new Float32Array()

  constructor(kernel: SegmentKernel, memory: KernelMemory, layout: RowLayout) {
    this.kernel = kernel
    this.#memory = memory
    this.#dim = layout.dim
    this.#rowBytes = rowBytes(layout)
    this.#counts = layout.accessor !== undefined
  }

  /** Makes room for `n` signs; doubling, so that scratch left behind stays below what is in use. */
  fit(n: number, table: string): void {
    if (n <= this.#capacity) return
    const capacity = roomFor(n)
    this.signsAt = this.#reserve(capacity * 8, table)
    this.addressesAt = this.#reserve(capacity * 4, table)
    this.rowsAt = this.#reserve(capacity * this.#dim * 4, table)
    this.#capacity = capacity
    const { buffer } = this.#memory
    this.signs = new BigUint64Array(buffer, this.signsAt, capacity)
    this.rows = new Float32Array(buffer, this.rowsAt, capacity * this.#dim)
    if (!this.#counts) return
    this.showClickAt = this.#reserve(capacity * 12, table)
    this.showClick = new Float32Array(this.#memory.buffer, this.showClickAt, capacity * 3)
  }

  /** Where an address list keeps the addresses of its `n` rows. */
  addresses(list: number, n: number, table: string): number {
    if (list === 0) return this.addressesAt
    const known = this.#addresses[list]
    if (known && n <= known.capacity) return known.at
    const capacity = roomFor(n)
    const made = { at: this.#reserve(capacity * 4, table), capacity }
    this.#addresses[list] = made
    return made.at
  }

  /** The row that the last lookup found for its first sign, as it is stored. */
  firstFound(): Uint8Array<ArrayBuffer> | undefined {
    const { buffer } = this.#memory
    const address = new DataView(buffer, this.addressesAt, 4).getUint32(0, true)
    return address === 0 ? undefined : new Uint8Array(buffer, address, this.#rowBytes).slice()
  }

  *scan(table: string, mode: number = -1) {
    const { signsAt, rowsAt, nextAt } = this.#wholeRows(table)
    const next = new DataView(this.#memory.buffer, nextAt, 4)
    for (let entry = 0; entry !== 0xffffffff; ) {
      const n = this.kernel.scan(entry, SCAN_ROWS, signsAt, rowsAt, nextAt, mode)
      entry = next.getUint32(0, true) // at once: others may scan before this goes on
      if (n > 0) yield this.#views(signsAt, rowsAt, n)
    }
  }

  /** Stores those of at most SCAN_ROWS rows that belong to this segment; returns how many, -1 when it is full. */
  write(
    signs: BigUint64Array,
    rows: Uint8Array,
    segmentBits: number,
    segment: number,
    table: string,
    insert = true,
  ): number {
    const { signsAt, rowsAt } = this.#wholeRows(table)
    new BigUint64Array(this.#memory.buffer, signsAt, signs.length).set(signs)
    new Uint8Array(this.#memory.buffer, rowsAt, rows.length).set(rows)
    return this.kernel.write(signsAt, signs.length, rowsAt, segmentBits, segment, insert ? 1 : 0)
  }

  /** Those of at most SCAN_ROWS signs that have no row, as a view that the next call changes. */
  absent(signs: BigUint64Array, table: string): BigUint64Array {
    const { signsAt, rowsAt } = this.#wholeRows(table)
    new BigUint64Array(this.#memory.buffer, signsAt, signs.length).set(signs)
    // Rows are wider than an address, so their room is free for addresses.
    const left = this.kernel.absent(signsAt, signs.length, rowsAt)
    return new BigUint64Array(this.#memory.buffer, signsAt, left)
  }

  /** Makes a row of each sign that has none. */
  insert(signs: BigUint64Array, table: string): void {
    if (signs.length === 0) return
    this.fit(signs.length, table)
    this.signs.set(signs)
    if (this.kernel.lookup(this.signsAt, signs.length, this.addressesAt, this.rowsAt, 1) < 0)
      throw tableFull(table, this.kernel.rowCount())
  }

  /** Those of at most SCAN_ROWS signs that have a row, and their rows, as views that the next call changes. */
  read(signs: BigUint64Array, table: string): { readonly signs: BigUint64Array; readonly rows: Uint8Array } {
    this.fit(signs.length, table)
    const { signsAt, rowsAt } = this.#wholeRows(table)
    new BigUint64Array(this.#memory.buffer, signsAt, signs.length).set(signs)
    const found = this.kernel.read(signsAt, signs.length, this.addressesAt, rowsAt)
    const { buffer } = this.#memory
    return {
      signs: new BigUint64Array(buffer, signsAt, found),
      rows: new Uint8Array(buffer, rowsAt, found * this.#rowBytes),
    }
  }

  /** Notes that at most SCAN_ROWS signs are wanted; returns those that have no row, as a view that the next call changes. */
  touch(signs: BigUint64Array, tick: number, table: string): BigUint64Array {
    const { signsAt } = this.#wholeRows(table)
    new BigUint64Array(this.#memory.buffer, signsAt, signs.length).set(signs)
    return new BigUint64Array(this.#memory.buffer, signsAt, this.kernel.touch(signsAt, signs.length, tick))
  }

  /** Adds the rows that may go to `counts`, by grade. */
  weigh({ kind, now, oldest }: EvictionRule, counts: Uint32Array, table: string): void {
    const { countsAt } = this.#markRoom(table)
    const own = new Uint32Array(this.#memory.buffer, countsAt, EVICTION_GRADES)
    own.fill(0)
    this.kernel.weigh(kind, now, oldest, countsAt)
    for (let i = 0; i < EVICTION_GRADES; i++) counts[i]! += own[i]!
  }

  /** Takes out the rows up to a grade, block by block, as views that are valid until the next. */
  *evict({ kind, now, oldest }: EvictionRule, cutoff: number, table: string) {
    const { signsAt, rowsAt, nextAt } = this.#wholeRows(table)
    const next = new DataView(this.#memory.buffer, nextAt, 4)
    for (let entry = 0, pauses = 0; entry !== 0xffffffff; ) {
      const n = this.kernel.evict(kind, now, oldest, cutoff, entry, SCAN_ROWS, signsAt, rowsAt, nextAt)
      const reached = next.getUint32(0, true)
      if (n > 0) yield this.#views(signsAt, rowsAt, n)
      // Pages that were replaced are still being read: whoever reads them may wait for its turn on this processor.
      if (reached === entry && ++pauses > MOST_PAUSES) throw tableFull(table, this.kernel.rowCount())
      if (reached === entry) Atomics.wait(PAUSE, 0, 0, 0.2)
      entry = reached
    }
  }

  /** Marks in `flags` those of at most SCAN_ROWS signs that have a row in this segment. */
  present(signs: BigUint64Array, segmentBits: number, segment: number, flags: Uint8Array, table: string): void {
    const { signsAt } = this.#wholeRows(table)
    new BigUint64Array(this.#memory.buffer, signsAt, signs.length).set(signs)
    const own = this.#flags(signs.length, table)
    this.kernel.present(signsAt, signs.length, segmentBits, segment, own.byteOffset)
    for (let i = 0; i < signs.length; i++) flags[i]! |= own[i]!
  }

  /** Lets the kernel work on at most SCAN_ROWS rows that are not in the segment; returns the flags it set. */
  outside(rows: Uint8Array, table: string, work: (rowsAt: number, n: number, flagsAt: number) => void): Uint8Array {
    const { rowsAt } = this.#wholeRows(table)
    const n = rows.length / this.#rowBytes
    const here = new Uint8Array(this.#memory.buffer, rowsAt, rows.length)
    here.set(rows)
    const flags = this.#flags(n, table)
    work(rowsAt, n, flags.byteOffset)
    rows.set(here)
    return flags
  }

  #flags(n: number, table: string): Uint8Array {
    const flags = new Uint8Array(this.#memory.buffer, this.#markRoom(table).flagsAt, n)
    flags.fill(0)
    return flags
  }

  #views(signsAt: number, rowsAt: number, n: number) {
    const { buffer } = this.#memory
    return {
      signs: new BigUint64Array(buffer, signsAt, n),
      rows: new Uint8Array(buffer, rowsAt, n * this.#rowBytes),
      rowBytes: this.#rowBytes,
    }
  }

  #markRoom(table: string) {
    this.#marks ??= {
      flagsAt: this.#reserve(SCAN_ROWS, table),
      countsAt: this.#reserve(4 * EVICTION_GRADES, table),
    }
    return this.#marks
  }

  #wholeRows(table: string) {
    this.#whole ??= {
      signsAt: this.#reserve(SCAN_ROWS * 8, table),
      rowsAt: this.#reserve(SCAN_ROWS * this.#rowBytes, table),
      nextAt: this.#reserve(4, table),
    }
    return this.#whole
  }

  #reserve(bytes: number, table: string): number {
    const at = this.kernel.reserve(bytes) >>> 0
    if (at === 0) throw tableFull(table, this.kernel.rowCount())
    return at
  }
}

/** Rounded up, so that there is room for some more the next time. */
export function roomFor(signs: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(signs, 1024)))
}

export function tableFull(name: string, rows: number): UserError {
  return new UserError(
    `table "${name}" is full at ${rows.toLocaleString('en-US')} rows: its segments hold 4 GiB each or memory ran out`,
    {
      code: 'TABLE_FULL',
      hint: 'double runner.table_segments, or shrink the table (smaller dim, an optimizer with less state)',
    },
  )
}
