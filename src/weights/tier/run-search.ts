/** @file Finds rows in runs: the filters say which run may have a sign, one page of it is read, the pages of many signs at once. */
import { PLACE_BYTES, RUN_BYTES, RunsMemory } from '../../base/kernel/index.ts'
import { tierRead } from './errors.ts'
import { damagedPage, type StoredRun } from './merge.ts'
import { openPageReader, type PageRead, type PageReader } from './page-reads.ts'
import { pageBytesOf, type RunKind } from './run-format.ts'
import { type OpenRun, RunIndex } from './run-index.ts'

/** Signs looked for at a time, runs at most. */
export const SIGNS = 4096
const RUNS = 64

/** What has been read, and what memory a search has. */
export interface SearchStats {
  readonly memoryBytes: number
  /** Pages read to find rows, and how many of them did not have the row. */
  readonly pagesRead: number
  readonly falsePages: number
  readonly readBytes: number
  /** Spent on searches. */
  readonly readSeconds: number
  /** Whether reads pass by the page cache. */
  readonly isDirect: boolean
}

/** Rows that are found, as views that are valid until the next. */
export type OnFound = (signs: BigUint64Array, rows: Uint8Array) => void

export interface Search {
  readonly stats: SearchStats
  /** These runs are searched from now on, the first first; files of others are closed. */
  use(runs: readonly StoredRun[]): void
  /** Hands over the rows of those of `signs` that have one; returns how many. */
  find(signs: BigUint64Array, found: OnFound): number
  /** Files of runs that are no longer used may be removed when this returns. */
  settle(): void
  close(): Promise<void>
}

export class RunSearch implements Search {
  #pagesRead = 0
  #falsePages = 0
  #readSeconds = 0
  readonly #kind: RunKind
  readonly #memory = new RunsMemory()
  readonly #index: RunIndex
  readonly #reader: PageReader
  readonly #pageBytes: number
  readonly #pagesAtOnce: number
  readonly #at: Readonly<Record<'signs' | 'at' | 'places' | 'foundSigns' | 'foundRows' | 'pages' | 'runs', number>>
  readonly #fixedBytes: number
  #runs: readonly OpenRun[] = []

  /** Reads that are waited for together are `pagesAtOnce`: each group ends with the slowest of its reads. */
  constructor({ table, layout, rowBytes }: RunKind, pagesAtOnce: number) {
    this.#kind = { table, layout, rowBytes }
    const memory = this.#memory
    this.#pageBytes = pageBytesOf(rowBytes)
    this.#pagesAtOnce = pagesAtOnce
    memory.kernel.setPages(rowBytes, this.#pageBytes)
    this.#at = {
      signs: memory.reserve(8 * SIGNS),
      at: memory.reserve(PLACE_BYTES * SIGNS),
      places: memory.reserve(4 * SIGNS),
      foundSigns: memory.reserve(8 * SIGNS),
      foundRows: memory.reserve(rowBytes * SIGNS),
      pages: memory.reserve(pagesAtOnce * this.#pageBytes),
      runs: memory.reserve(RUN_BYTES * RUNS),
    }
    this.#fixedBytes = memory.bytes
    this.#index = new RunIndex(memory)
    this.#reader = openPageReader(() => memory.buffer)
  }

  get stats(): SearchStats {
    return {
      memoryBytes: this.#fixedBytes + this.#index.bytes,
      pagesRead: this.#pagesRead,
      falsePages: this.#falsePages,
      readBytes: this.#pagesRead * this.#pageBytes,
      readSeconds: this.#readSeconds,
      isDirect: this.#reader.isDirect,
    }
  }

  use(runs: readonly StoredRun[]): void {
    const before = this.#runs
    const opened: OpenRun[] = []
    const known = new Map(before.map((run) => [run.path, run]))
    try {
      for (const { path } of runs) {
        const run = known.get(path) ?? this.#index.open(path, this.#kind)
        if (!known.has(path)) opened.push(run)
        known.set(path, run)
      }
    } catch (error) {
      for (const run of opened) this.#index.close(run)
      throw error
    }
    this.#runs = runs.map(({ path }) => known.get(path)!)
    this.#index.list(this.#runs, this.#at.runs)
    for (const run of before) if (!this.#runs.includes(run)) this.#index.close(run)
  }

  find(signs: BigUint64Array, found: OnFound): number {
    const started = performance.now()
    let all = 0
    for (let first = 0; first < signs.length && this.#runs.length > 0; first += SIGNS)
      all += this.#findSome(signs.subarray(first, first + SIGNS), found)
    this.#readSeconds += (performance.now() - started) / 1000
    return all
  }

  settle(): void {}

  async close(): Promise<void> {
    for (const run of this.#runs) this.#index.close(run)
    this.#runs = []
    this.#reader.close()
  }

  #findSome(signs: BigUint64Array, found: OnFound): number {
    const { kernel, buffer } = this.#memory
    const at = this.#at
    new BigUint64Array(buffer, at.signs, signs.length).set(signs)
    const plan = (isFirst: number) =>
      kernel.plan(at.signs, signs.length, at.runs, this.#runs.length, at.at, at.places, isFirst)
    let count = 0
    for (let left = plan(1); left > 0; left = plan(0)) {
      const before = count
      for (let from = 0; from < left; from += this.#pagesAtOnce)
        count = this.#readSome(from, Math.min(this.#pagesAtOnce, left - from), count)
      this.#pagesRead += left
      this.#falsePages += left - (count - before)
    }
    if (count > 0)
      found(
        new BigUint64Array(buffer, at.foundSigns, count),
        new Uint8Array(buffer, at.foundRows, count * this.#kind.rowBytes),
      )
    return count
  }

  /** Reads the pages of places [from, from + n); returns how many rows are found by then. */
  #readSome(from: number, n: number, found: number): number {
    const { kernel, buffer } = this.#memory
    const at = this.#at
    const places = new Uint32Array(buffer, at.places + 4 * from, n)
    const where = new Uint32Array(buffer, at.at, 3 * SIGNS)
    const reads = Array.from(places, (place, j): PageRead & { readonly run: OpenRun } => {
      const run = this.#runs[where[3 * place]!]!
      return {
        run,
        file: run.file,
        offset: where[3 * place + 1]! * this.#pageBytes,
        to: at.pages + j * this.#pageBytes,
      }
    })
    try {
      this.#reader.read(reads, this.#pageBytes)
    } catch (error) {
      throw tierRead(reads[0]!.run.path, error)
    }
    const taken = kernel.take(at.signs, at.at, at.places + 4 * from, n, at.pages, at.foundSigns, at.foundRows, found)
    if (taken >= 0) return taken
    const { run, offset } = reads[-1 - taken]!
    throw damagedPage(run.path, offset / this.#pageBytes)
  }
}
