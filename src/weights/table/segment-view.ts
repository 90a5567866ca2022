/** @file One segment of a table as one thread sees it: the kernel, and this thread's scratch in the segment's memory. */
import { type KernelMemory, type RowLayout, rowBytes, type SegmentKernel } from '../../base/kernel/index.ts'
import { UserError } from '../../base/util/index.ts'

export const SCAN_ROWS = 4096 // a page has at most 256, so a scan always moves on

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
    for (let entry = 0; entry !== 0xffffffff; entry = next.getUint32(0, true)) {
      const n = this.kernel.scan(entry, SCAN_ROWS, signsAt, rowsAt, nextAt, mode)
      const { buffer } = this.#memory
      if (n > 0)
        yield {
          signs: new BigUint64Array(buffer, signsAt, n),
          rows: new Uint8Array(buffer, rowsAt, n * this.#rowBytes),
          rowBytes: this.#rowBytes,
        }
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

function roomFor(signs: number): number {
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
