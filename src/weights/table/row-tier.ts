/**
 * @file Rows of a table that do not fit into its memory: those wanted least go to a disk, or are given up where there is none, and come
 * back before they are wanted again. One thread keeps a table's tier; the others find every row of their batches in memory.
 */
import { rmSync } from 'node:fs'
import { EVICTION_GRADES, EVICTIONS, type RowLayout, rowBytes } from '../../base/kernel/index.ts'
import { ColdStore, type MergedRows } from '../tier/index.ts'
import { AskedRows } from './asked-rows.ts'
import { BatchesUnderWay } from './batches-under-way.ts'
import { cutoffOf, joined, without } from './row-tier-blocks.ts'
import { INDEX_BYTES, layoutText, limitTooSmall, rowCapacity, sharesOf } from './row-tier-limits.ts'
import { SCAN_ROWS, type SegmentView, tableFull } from './segment-view.ts'
import type { DistinctSigns, SaveMode } from './table.ts'

/** Rows leave from among so many times as many. */
const CHOICE = 8

export interface TierOptions {
  /** Of rows, index, filters and buffers together. */
  readonly memoryLimitBytes: number
  /** Where rows go that find no place in memory, a folder of this tier's own. @default nowhere: they are given up */
  readonly folder?: string | undefined
  /** What goes first. */
  readonly eviction: keyof typeof EVICTIONS
  /** Rows are asked for before they are wanted, and found by a thread of its own. @default false */
  readonly ahead?: boolean | undefined
}

/** The table whose rows these are, as the keeping thread has it. */
export interface TierTable {
  readonly name: string
  readonly layout: RowLayout
  readonly segments: readonly SegmentView[]
  readonly segmentBits: number
}

export interface TierStats {
  readonly memoryRows: number
  readonly memoryBytes: number
  readonly limitBytes: number
  /** On the disk and not in memory. */
  readonly diskRows: number
  readonly diskBytes: number
  /** Distinct signs of batches: found in memory, brought from the disk, without a row. */
  readonly hits: number
  readonly misses: number
  readonly unknown: number
  readonly evicted: number
  /** Of the evicted those that went nowhere. */
  readonly lost: number
  readonly readBytes: number
  readonly writtenBytes: number
  readonly readSeconds: number
  readonly isDirect: boolean
}

export class RowTier {
  readonly #table: TierTable
  readonly #options: TierOptions
  readonly #rowBytes: number
  readonly #tableBytes: number
  readonly #filterBytes: number
  readonly #store: ColdStore | undefined
  readonly #leaving: { readonly signs: BigUint64Array; readonly rows: Uint8Array }
  #left = 0
  /** Of segments that give up rows. */
  #turn = 0
  #cold = 0
  #tick = 1
  readonly #batches = new BatchesUnderWay()
  /** The most rows there have been: their memory is the table's. */
  #most = 0
  readonly #counted = { hits: 0, misses: 0, unknown: 0, evicted: 0, lost: 0 }
  readonly #asked = new AskedRows()

  constructor(table: TierTable, options: TierOptions) {
    this.#table = table
    this.#options = options
    this.#rowBytes = rowBytes(table.layout)
    const { filterBytes, flushRows, readPages, tableBytes } = sharesOf(
      options.memoryLimitBytes,
      this.#rowBytes,
      options.folder !== undefined,
    )
    this.#tableBytes = tableBytes
    this.#filterBytes = filterBytes
    this.#leaving = { signs: new BigUint64Array(flushRows), rows: new Uint8Array(flushRows * this.#rowBytes) }
    const { folder } = options
    const kind = { table: table.name, layout: layoutText(table.layout), rowBytes: this.#rowBytes }
    this.#store =
      folder === undefined
        ? undefined
        : new ColdStore({ ...kind, folder, job: folder, flushRows, readPages, filterBytes, ahead: options.ahead })
    this.#setTick()
  }

  /** Rows that are on the disk, or on their way, and not in memory. */
  get rows(): number {
    return this.#cold + this.#left
  }

  /** A batch begins; its rows stay in memory until it has ended. */
  begin(): number {
    this.#tick++
    this.#batches.begin(this.#tick)
    this.#setTick()
    return this.#tick
  }

  end(tick: number): void {
    this.#batches.end(tick)
  }

  /**
   * Makes room for the rows of a batch and asks for those on the disk: `arrived` says when they are in memory. False: there is no room
   * before an earlier batch has ended.
   */
  ask({ signs, lengths }: DistinctSigns, tick: number): boolean {
    this.#asked.sayFailure()
    this.#flush()
    const absent: BigUint64Array[] = []
    let first = 0
    for (const [s, segment] of this.#table.segments.entries()) {
      const last = first + lengths[s]!
      for (; first < last; first += SCAN_ROWS) {
        const some = signs.subarray(first, Math.min(last, first + SCAN_ROWS))
        absent.push(segment.touch(some, tick, this.#table.name).slice())
      }
      first = last
    }
    const missing = absent.reduce((sum, { length }) => sum + length, 0)
    if (!this.#makeRoom(missing)) {
      if (this.#batches.oldest(tick) < tick) return false
      throw this.#tooSmall(missing)
    }
    this.#batches.want(tick, signs.length, missing)
    this.#counted.hits += signs.length - missing
    this.#counted.unknown += missing
    if (missing > 0) this.#request(joined(absent, missing))
    return true
  }

  /** Resolves when all rows that were asked for by now are in memory. */
  async arrived(): Promise<void> {
    await this.#asked.arrived()
  }

  /** Waits for all that was asked for: rows that are on their way are neither in memory nor among those of the disk. */
  finish(): void {
    this.#store?.finish()
    this.#asked.sayFailure()
  }

  /** Brings the rows of a batch into memory; false as in `ask`. */
  bring(distinct: DistinctSigns, tick: number): boolean {
    const fits = this.ask(distinct, tick)
    this.finish()
    return fits
  }

  /** Batches under way hold so many rows that no more should be asked for ahead. */
  get isAheadEnough(): boolean {
    return 4 * this.#batches.wanted > this.#capacity
  }

  /** The same for whoever uses the rows at once. */
  ensure(distinct: DistinctSigns): void {
    const tick = this.begin()
    this.bring(distinct, tick)
    this.end(tick)
  }

  /** How many rows are best stored at a time. */
  get blockRows(): number {
    return Math.max(64, Math.min(SCAN_ROWS, Math.floor(this.#capacity / 4)))
  }

  /**
   * Rows of a load that the disk surely does not have: those that memory has no room for go there at once, past it. Returns how many of
   * them, from the first on, are for memory; of the others it has overwritten those that memory has.
   */
  store(signs: BigUint64Array, rows: Uint8Array): number {
    if (!this.#store) return signs.length
    this.finish()
    const room = Math.max(0, Math.min(signs.length, this.#capacity - this.#rowCount))
    if (room === signs.length) return room
    const past = { signs: signs.slice(room), rows: rows.slice(room * this.#rowBytes) }
    const here = this.#present(past.signs)
    if (here.includes(1)) this.#write(past.signs, past.rows, false)
    const cold = without(past, here, this.#rowBytes)
    this.#leave(cold.signs, cold.rows)
    return room
  }

  /** At most SCAN_ROWS rows are about to be stored, whatever their segments: those that the disk has come into memory first. */
  expect(signs: BigUint64Array): void {
    this.finish()
    this.#flush()
    this.begin()
    this.end(this.#tick)
    if (!this.#makeRoom(signs.length)) throw this.#tooSmall(signs.length)
    const here = this.#present(signs)
    this.#fetch(signs.filter((_, i) => here[i] === 0))
  }

  /** Rows that are not in memory, block by block; with `mode` those that such a save writes. */
  *scan(mode?: SaveMode): Generator<MergedRows & { readonly rowBytes: number }> {
    if (!this.#store) return
    this.finish()
    this.#flush()
    const [first] = this.#table.segments
    for (const block of this.#store.scan()) {
      const gone = this.#present(block.signs)
      const filtered =
        mode === undefined
          ? undefined
          : this.#outside(block.rows, (rows, n, flags) => first!.kernel.pickRows(rows, n, mode, flags))
      if (filtered) for (let i = 0; i < gone.length; i++) gone[i]! |= filtered[i]!
      const kept = without(block, gone, this.#rowBytes)
      if (kept.signs.length > 0) yield { ...kept, rowBytes: this.#rowBytes }
    }
  }

  /** A day has passed for the rows on the disk; returns how many went. */
  shrink(): number {
    const [before, [first]] = [this.rows, this.#table.segments]
    this.#rewrite(({ rows }) => this.#outside(rows, (at, n, flags) => first!.kernel.fadeRows(at, n, flags)))
    return before - this.rows
  }

  /** After a save of `mode`, for the rows on the disk. */
  settle(mode: SaveMode): void {
    const [first] = this.#table.segments
    this.#rewrite(({ rows }) => this.#outside(rows, (at, n) => first!.kernel.settleRows(at, n, mode)))
  }

  /** Rows that have left memory so far: addresses that were found before a change of this are stale. */
  get evicted(): number {
    return this.#counted.evicted
  }

  clear(): void {
    this.finish()
    this.#left = 0
    this.#store?.clear()
    this.#cold = 0
  }

  get memoryBytes(): number {
    const own = this.#leaving.rows.byteLength + this.#leaving.signs.byteLength
    return this.#usedBytes + own + (this.#store?.stats.memoryBytes ?? 0)
  }

  get stats(): TierStats {
    const cold = this.#store?.stats
    return {
      memoryRows: this.#rowCount,
      memoryBytes: this.memoryBytes,
      limitBytes: this.#options.memoryLimitBytes,
      diskRows: this.rows,
      diskBytes: cold?.diskBytes ?? 0,
      ...this.#counted,
      readBytes: cold?.readBytes ?? 0,
      readSeconds: cold?.readSeconds ?? 0,
      writtenBytes: cold?.writtenBytes ?? 0,
      isDirect: cold?.isDirect ?? false,
    }
  }

  /** The files are removed: a checkpoint has what is worth keeping. */
  async close(): Promise<void> {
    await this.#store?.close()
    if (this.#options.folder !== undefined) rmSync(this.#options.folder, { recursive: true, force: true })
  }

  get #usedBytes(): number {
    return this.#table.segments.reduce((sum, { kernel }) => sum + kernel.usedBytes(), 0)
  }

  get #rowCount(): number {
    return this.#table.segments.reduce((sum, { kernel }) => sum + kernel.rowCount(), 0)
  }

  /** How many rows may be in memory. What a table has taken it keeps and uses again. */
  get #capacity(): number {
    this.#most = Math.max(this.#most, this.#rowCount)
    return rowCapacity({
      rowBytes: this.#rowBytes,
      most: this.#most,
      used: this.#usedBytes,
      tableBytes: this.#tableBytes,
      filterBytes: this.#filterBytes,
      indexBytes: this.#store?.indexBytes ?? 0,
    })
  }

  /** Whether there is room for `more` rows, after those wanted least have gone. */
  #makeRoom(more: number): boolean {
    for (let wanted = this.#flushRows; ; wanted = this.#flushRows) {
      const over = this.#rowCount + this.#batches.missing + more - this.#capacity
      if (over <= 0) return true
      if (this.#evict(Math.max(over, wanted)) === 0) return false
    }
  }

  get #flushRows(): number {
    return this.#leaving.signs.length
  }

  #tooSmall(more: number) {
    const { name } = this.#table
    const lacking = (this.#rowCount + this.#batches.missing + more - this.#capacity) * (this.#rowBytes + INDEX_BYTES)
    return limitTooSmall(name, this.#options.memoryLimitBytes, lacking)
  }

  /** Takes about `wanted` rows out of memory, those of the lowest grades among the segments whose turn it is; returns how many. */
  #evict(wanted: number): number {
    const { segments } = this.#table
    let gone = 0
    for (let tried = 0; tried < segments.length && gone === 0; ) {
      const some: SegmentView[] = []
      // Weighing takes the time, so as few as have rows to choose from.
      for (let rows = 0; rows < CHOICE * wanted && tried < segments.length; tried++) {
        const segment = segments[this.#turn++ % segments.length]!
        some.push(segment)
        rows += segment.kernel.rowCount()
      }
      gone = this.#evictFrom(some, wanted)
    }
    this.#flush()
    this.#counted.evicted += gone
    if (!this.#store) this.#counted.lost += gone
    return gone
  }

  #evictFrom(segments: readonly SegmentView[], wanted: number): number {
    const { name } = this.#table
    const oldest = this.#batches.oldest(this.#tick)
    const rule = { kind: EVICTIONS[this.#options.eviction], now: this.#tick, oldest }
    const counts = new Uint32Array(EVICTION_GRADES)
    for (const segment of segments) segment.weigh(rule, counts, name)
    const cutoff = cutoffOf(counts, wanted)
    let gone = 0
    for (const segment of segments) {
      let own = 0
      for (const { signs, rows } of segment.evict(rule, cutoff, name)) {
        this.#leave(signs, rows)
        own += signs.length
        if (own >= wanted / segments.length) break
      }
      gone += own
    }
    return gone
  }

  #leave(signs: BigUint64Array, rows: Uint8Array): void {
    if (!this.#store) return
    for (let from = 0; from < signs.length; ) {
      if (this.#left === this.#flushRows) this.#flush()
      const n = Math.min(signs.length - from, this.#flushRows - this.#left)
      this.#leaving.signs.set(signs.subarray(from, from + n), this.#left)
      this.#leaving.rows.set(
        rows.subarray(from * this.#rowBytes, (from + n) * this.#rowBytes),
        this.#left * this.#rowBytes,
      )
      this.#left += n
      from += n
    }
  }

  #flush(): void {
    if (this.#left === 0) return
    const n = this.#left
    const [signs, rows] = [this.#leaving.signs.subarray(0, n), this.#leaving.rows.subarray(0, n * this.#rowBytes)]
    this.#left = 0
    try {
      this.#cold += this.#store!.put(signs, rows)
    } catch (error) {
      this.#write(signs, rows) // nothing is lost but room
      throw error
    }
  }

  /** Brings the rows of signs that memory does not have. */
  #fetch(signs: BigUint64Array): void {
    if (this.rows > 0) this.#store?.find(signs, (some, rows) => this.#arrive(some, rows))
  }

  /** The same of those that no request under way brings, now or later. */
  #request(signs: BigUint64Array): void {
    if (!this.#store || this.rows === 0) return
    if (!this.#options.ahead) {
      this.#fetch(signs)
      return
    }
    this.#asked.request(signs, (own, done) => {
      this.#store!.ask(own, { found: (some, rows) => this.#arrive(some, rows), done })
    })
  }

  #arrive(signs: BigUint64Array, rows: Uint8Array): void {
    this.#write(signs, rows)
    this.#cold -= signs.length
    this.#counted.misses += signs.length
    this.#counted.unknown -= signs.length
    this.#batches.arrive(signs.length)
  }

  #write(signs: BigUint64Array, rows: Uint8Array, insert = true): void {
    const { segments, segmentBits, name } = this.#table
    for (let from = 0; from < signs.length; from += SCAN_ROWS) {
      const to = Math.min(signs.length, from + SCAN_ROWS)
      const block = rows.subarray(from * this.#rowBytes, to * this.#rowBytes)
      for (const [s, segment] of segments.entries())
        if (segment.write(signs.subarray(from, to), block, segmentBits, s, name, insert) < 0)
          throw tableFull(name, this.#rowCount)
    }
  }

  /** A flag for each sign that has a row in memory. */
  #present(signs: BigUint64Array): Uint8Array {
    const { segments, segmentBits, name } = this.#table
    const flags = new Uint8Array(signs.length)
    for (const [s, segment] of segments.entries()) segment.present(signs, segmentBits, s, flags, name)
    return flags
  }

  #outside(rows: Uint8Array, work: (rowsAt: number, n: number, flagsAt: number) => void): Uint8Array {
    return this.#table.segments[0]!.outside(rows, this.#table.name, work)
  }

  /** Rows that came back into memory go from the disk, and those for which `change` says so. */
  #rewrite(change: (block: MergedRows) => Uint8Array): void {
    if (!this.#store) return
    this.finish()
    this.#flush()
    // All rows have come back: what is left there is old, and would be found once memory has dropped them.
    if (this.rows === 0) {
      this.#store.clear()
      return
    }
    let rows = 0
    this.#store.rewrite((block) => {
      const cold = without(block, this.#present(block.signs), this.#rowBytes)
      const kept = without(cold, change(cold), this.#rowBytes)
      rows += kept.signs.length
      return kept
    })
    this.#cold = rows
  }

  #setTick(): void {
    for (const { kernel } of this.#table.segments) kernel.setTick(this.#tick)
  }
}
