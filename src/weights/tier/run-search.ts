/** @file Finds rows in runs: the filters say which run may have a sign, one page of it is read, the pages of many signs at once. */
import { PLACE_BYTES, RUN_BYTES, RunsMemory } from '../../base/kernel/index.ts'
import { tierRead } from './errors.ts'
import { damagedPage } from './merge.ts'
import { openPageReader, type PageRead, type PageReader } from './page-reads.ts'
import { pageBytesOf, type RunKind } from './run-format.ts'
import { type OpenRun, RunIndex } from './run-index.ts'

/** Signs looked for at a time, runs at most. */
const SIGNS = 4096
const RUNS = 64

export class RunSearch {
  pagesRead = 0
  falsePages = 0
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

  get readBytes(): number {
    return this.pagesRead * this.#pageBytes
  }

  get memoryBytes(): number {
    return this.#fixedBytes + this.#index.bytes
  }

  get isDirect(): boolean {
    return this.#reader.isDirect
  }

  open(path: string): OpenRun {
    return this.#index.open(path, this.#kind)
  }

  /** These are searched from now on, the first first. */
  use(runs: readonly OpenRun[]): void {
    this.#runs = runs
    this.#index.list(runs, this.#at.runs)
  }

  close(runs: readonly OpenRun[]): void {
    for (const run of runs) this.#index.close(run)
  }

  find(signs: BigUint64Array, found: (signs: BigUint64Array, rows: Uint8Array) => void): number {
    let all = 0
    for (let first = 0; first < signs.length; first += SIGNS)
      all += this.#findSome(signs.subarray(first, first + SIGNS), found)
    return all
  }

  #findSome(signs: BigUint64Array, found: (signs: BigUint64Array, rows: Uint8Array) => void): number {
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
      this.pagesRead += left
      this.falsePages += left - (count - before)
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
