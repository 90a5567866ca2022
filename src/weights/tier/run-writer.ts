/** @file Writes a run: rows in order of their hashes, page by page past the page cache; it is whole when `finish` returns. */
import { closeSync, constants, fdatasyncSync, unlinkSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { RunsMemory } from '../../base/kernel/index.ts'
import { openDirect } from './page-reads.ts'
import { BLOCK, footerOf, pageBytesOf, type RunKind, type RunMark, wholeBlocks } from './run-format.ts'

const WRITE_BYTES = 1024 * 1024

export interface RunWriterOptions extends RunKind {
  /** No run will have more rows. */
  readonly maxRows: number
  /** Of the filter; fewer cost reads of pages that turn out not to have a sign. */
  readonly bitsPerRow: number
  /** A run outlives a loss of power, not only the end of this process. */
  readonly isDurable: boolean
}

/** Rows that lie in the writer's memory. */
export interface RowsAt {
  readonly signsAt: number
  readonly rowsAt: number
}

/** Used again and again, for one run at a time. */
export class RunWriter {
  readonly memory: RunsMemory
  readonly perPage: number
  readonly #kind: RunKind
  readonly #maxRows: number
  readonly #pageBytes: number
  readonly #pagesAtOnce: number
  readonly #at: Readonly<Record<'pages' | 'fences' | 'filter' | 'footer', number>>
  readonly #maxBlocks: number
  readonly #bitsPerRow: number
  readonly #isDurable: boolean
  #sorting: Readonly<Record<'signs' | 'rows' | 'order' | 'keys' | 'other' | 'counts', number>> | undefined
  #open: { readonly path: string; readonly file: number; blocks: number; pages: number; rows: number } | undefined

  /** `memory` is all the writer's. */
  constructor({ maxRows, bitsPerRow, isDurable, ...kind }: RunWriterOptions, memory: RunsMemory = new RunsMemory()) {
    memory.reset()
    this.memory = memory
    this.#kind = kind
    this.#isDurable = isDurable
    this.#maxRows = maxRows
    this.#bitsPerRow = bitsPerRow
    this.#pageBytes = pageBytesOf(kind.rowBytes)
    this.perPage = this.memory.kernel.setPages(kind.rowBytes, this.#pageBytes)
    this.#pagesAtOnce = Math.max(1, Math.floor(WRITE_BYTES / this.#pageBytes))
    this.#maxBlocks = blocksFor(maxRows, bitsPerRow)
    this.#at = {
      pages: this.memory.reserve(this.#pagesAtOnce * this.#pageBytes),
      fences: this.memory.reserve(wholeBlocks(4 * Math.ceil(maxRows / this.perPage))),
      filter: this.memory.reserve(wholeBlocks(64 * this.#maxBlocks)),
      footer: this.memory.reserve(BLOCK),
    }
  }

  /** Rows in any order as one run; of rows with the same sign the last. */
  write(path: string, signs: BigUint64Array, rows: Uint8Array): RunMark {
    const at = this.#sortingRoom()
    const { kernel, buffer } = this.memory
    new BigUint64Array(buffer, at.signs, signs.length).set(signs)
    new Uint8Array(buffer, at.rows, rows.length).set(rows)
    kernel.sortByHash(at.signs, signs.length, at.order, at.keys, at.other, at.counts)
    const n = kernel.lastOfEach(at.signs, signs.length, at.order)
    this.begin(path, n)
    try {
      this.append({ signsAt: at.signs, rowsAt: at.rows }, n, at.order)
      return this.finish()
    } catch (error) {
      this.abandon()
      throw error
    }
  }

  begin(path: string, rows: number): void {
    const file = openDirect(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL)
    const blocks = Math.min(this.#maxBlocks, blocksFor(rows, this.#bitsPerRow))
    this.#open = { path, file, blocks, pages: 0, rows: 0 }
    new Uint8Array(this.memory.buffer, this.#at.filter, wholeBlocks(64 * blocks)).fill(0)
  }

  /** The next `n` rows in order; all calls but the last bring whole pages. */
  append({ signsAt, rowsAt }: RowsAt, n: number, order = 0): void {
    const run = this.#open!
    const { pages, fences, filter } = this.#at
    const rowsAtOnce = this.#pagesAtOnce * this.perPage
    if (run.rows + n > this.#maxRows) throw new Error(`internal: a run of more than ${this.#maxRows} rows`)
    for (let from = 0; from < n; from += rowsAtOnce) {
      const some = Math.min(rowsAtOnce, n - from)
      const made = this.memory.kernel.pack(
        signsAt,
        rowsAt,
        order,
        from,
        some,
        pages,
        run.pages,
        fences,
        filter,
        run.blocks,
      )
      this.#write(pages, made * this.#pageBytes)
      run.pages += made
      run.rows += some
    }
  }

  /** The run is on the disk when this returns. */
  finish(): RunMark {
    const { file, blocks, pages, rows } = this.#open!
    const { buffer } = this.memory
    const [fences, filter] = [wholeBlocks(4 * pages), wholeBlocks(64 * blocks)]
    new Uint8Array(buffer, this.#at.fences + 4 * pages, fences - 4 * pages).fill(0)
    const sum = crc32(
      new Uint8Array(buffer, this.#at.filter, filter),
      crc32(new Uint8Array(buffer, this.#at.fences, fences)),
    )
    const mark: RunMark = { ...this.#kind, rows, pages, pageBytes: this.#pageBytes, filterBlocks: blocks, crc32: sum }
    this.#write(this.#at.fences, fences)
    this.#write(this.#at.filter, filter)
    new Uint8Array(buffer, this.#at.footer, BLOCK).set(footerOf(mark))
    this.#write(this.#at.footer, BLOCK)
    if (this.#isDurable) fdatasyncSync(file)
    closeSync(file)
    this.#open = undefined
    return mark
  }

  /** What was begun is removed. */
  abandon(): void {
    if (!this.#open) return
    closeSync(this.#open.file)
    unlinkSync(this.#open.path)
    this.#open = undefined
  }

  #write(at: number, bytes: number): void {
    const all = new Uint8Array(this.memory.buffer, at, bytes)
    for (let done = 0; done < bytes; ) done += writeSync(this.#open!.file, all, done, bytes - done)
  }

  #sortingRoom() {
    const n = this.#maxRows
    this.#sorting ??= {
      signs: this.memory.reserve(8 * n),
      rows: this.memory.reserve(this.#kind.rowBytes * n),
      order: this.memory.reserve(4 * n),
      keys: this.memory.reserve(16 * n),
      other: this.memory.reserve(16 * n),
      counts: this.memory.reserve(4 << 16),
    }
    return this.#sorting
  }
}

export function blocksFor(rows: number, bitsPerRow: number): number {
  return Math.max(1, Math.ceil((rows * bitsPerRow) / 512))
}
