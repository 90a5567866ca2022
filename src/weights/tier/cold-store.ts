/**
 * @file Rows on a disk by sign: written in groups as sorted runs, found by one direct read a row, merged by a thread of its own. One thread
 * uses it. What it writes is in its files, and listed, when a call returns: a process that is killed loses none of it; of two rows with the same sign the one written last counts.
 */
import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { isUserError } from '../../base/util/index.ts'
import { BackgroundMerge } from './background-merge.ts'
import { type Asker, BackgroundSearch } from './background-search.ts'
import { tierFull, tierRead } from './errors.ts'
import { readManifest, removeUnlisted, writeManifest } from './manifest.ts'
import { type MergedRows, mergeRuns, type StoredRun } from './merge.ts'
import { writeMerged } from './merge-writer.ts'
import type { RunKind, RunMark } from './run-format.ts'
import { readMark } from './run-index.ts'
import { type OnFound, RunSearch, type Search, type SearchStats } from './run-search.ts'
import { RunWriter } from './run-writer.ts'

export interface ColdStoreOptions extends RunKind {
  readonly folder: string
  /** Names the job whose rows these are; a folder of another is refused. */
  readonly job: string
  /** The most rows of one `put`. */
  readonly flushRows: number
  /** Pages read at a time, each of a few kilobytes. @default 512 */
  readonly readPages?: number | undefined
  /** Filters are made with fewer bits a row where they would take more than this. */
  readonly filterBytes: number
  /** Rows of an earlier process stay; else they are removed. @default false */
  readonly keep?: boolean | undefined
  /** Rows may be asked for, which a thread of its own then finds. @default false */
  readonly ahead?: boolean | undefined
  /** What is written outlives a loss of power, and not only the end of this process. @default false */
  readonly durable?: boolean | undefined
}

interface LevelRun extends StoredRun {
  readonly level: number
}

/** Runs of a level that are merged into one of the next. */
export const FAN_OUT = 6
/** With so many runs a put waits for a merge. */
const MOST_RUNS = 26
const BITS_PER_ROW = 10
const LEAST_BITS = 2

export interface ColdStats extends SearchStats {
  readonly runs: number
  /** Rows on the disk, those included that a newer one replaces. */
  readonly entries: number
  readonly diskBytes: number
  /** Of fences, filters and buffers. */
  readonly memoryBytes: number
  readonly writtenBytes: number
  /** Of the bytes written those that merges wrote. */
  readonly mergedBytes: number
}

export class ColdStore {
  readonly #options: ColdStoreOptions
  readonly #isDurable: boolean
  readonly #search: Search
  /** The same, where rows may be asked for. */
  readonly #ahead: BackgroundSearch | undefined
  readonly #writer: RunWriter
  readonly #merge: BackgroundMerge
  #runs: LevelRun[] = []
  #merging: { readonly runs: readonly LevelRun[]; readonly file: string; readonly indexBytes: number } | undefined
  /** Of a merge whose end was seen while rows were only read, which goes on without it: the next write says it. */
  #failure: unknown
  #next = 0
  #written = { all: 0, merged: 0 }

  /** Throws TIER_OTHER or TIER_DAMAGED when the folder cannot be used. */
  constructor(options: ColdStoreOptions) {
    const { folder, flushRows } = options
    this.#options = options
    this.#isDurable = options.durable ?? false
    const listed = readManifest(folder, options)
    const readPages = options.readPages ?? 512
    this.#ahead = options.ahead ? new BackgroundSearch(options, readPages) : undefined
    this.#search = this.#ahead ?? new RunSearch(options, readPages)
    if (listed && options.keep) {
      this.#next = listed.next
      this.#runs = listed.runs.map(({ file, level }) => this.#run(file, readMark(join(folder, file), options), level))
    }
    this.#list()
    removeUnlisted(
      folder,
      this.#runs.map(({ path }) => path.slice(folder.length + 1)),
    )
    this.#writer = new RunWriter({
      ...kindOf(options),
      maxRows: flushRows,
      bitsPerRow: BITS_PER_ROW,
      isDurable: this.#isDurable,
    })
    this.#merge = new BackgroundMerge(kindOf(options))
  }

  /** Writes rows as a run, of rows with the same sign the last; returns how many. */
  put(signs: BigUint64Array, rows: Uint8Array): number {
    this.#takeMerged(this.#runs.length >= MOST_RUNS)
    this.#sayFailure()
    const file = this.#newFile()
    const path = join(this.#options.folder, file)
    const mark = this.#writing(() => this.#writer.write(path, signs, rows))
    this.#runs.unshift(this.#run(file, mark, 0))
    this.#written.all += bytesOf(mark)
    this.#list()
    this.#beginMerge()
    return mark.rows
  }

  /** Hands over the rows of those of `signs` that have one, block by block, as views that are valid until the next; returns how many. */
  find(signs: BigUint64Array, found: OnFound): number {
    this.#lookAfterMerge()
    return this.#search.find(signs, found)
  }

  /**
   * Begins to look for rows, where the store is opened for it; the asker is told of them in the order of asking, when this thread waits
   * for events or calls `finish`.
   */
  ask(signs: BigUint64Array, asker: Asker): void {
    this.#lookAfterMerge()
    this.#ahead!.ask(signs, asker)
  }

  /** Waits for all that was asked for. */
  finish(): void {
    this.#ahead?.finish()
  }

  /** Every row once, in order of hash, as views that are valid until the next step. */
  *scan(): Generator<MergedRows> {
    this.#endMerges()
    if (this.#runs.length > 0) yield* mergeRuns(this.#runs, kindOf(this.#options))
  }

  /** All rows anew: `change` gets each block of them and returns what is to stay of it. */
  rewrite(change: (block: MergedRows) => MergedRows): void {
    const { folder } = this.#options
    this.#endMerges()
    const [before, file] = [this.#runs, this.#newFile()]
    const path = join(folder, file)
    const changed = function* (blocks: Iterable<MergedRows>) {
      for (const block of blocks) {
        const kept = change(block)
        if (kept.signs.length > 0) yield kept
      }
    }
    const [maxRows, isDurable] = [this.entries, this.#isDurable]
    const options = { ...kindOf(this.#options), maxRows, bitsPerRow: this.#bits(maxRows), isDurable }
    const mark = before.length > 0 ? this.#writing(() => writeMerged(path, changed(this.scan()), options)) : undefined
    this.#written.all += mark ? bytesOf(mark) : 0
    this.#runs = mark ? [this.#run(file, mark, Math.max(...before.map(({ level }) => level)))] : []
    this.#list()
    this.#drop(before)
  }

  clear(): void {
    this.#endMerges()
    const before = this.#runs
    this.#runs = []
    this.#list()
    this.#drop(before)
  }

  get entries(): number {
    return this.#runs.reduce((sum, { mark }) => sum + mark.rows, 0)
  }

  /** Of fences and filters, that of the run included that a merge is making. */
  get indexBytes(): number {
    const own = this.#runs.reduce((sum, { mark }) => sum + 64 * mark.filterBlocks + 4 * mark.pages, 0)
    return own + (this.#merging?.indexBytes ?? 0)
  }

  get stats(): ColdStats {
    const { stats } = this.#search
    return {
      ...stats,
      runs: this.#runs.length,
      entries: this.entries,
      diskBytes: this.#runs.reduce((sum, { mark }) => sum + bytesOf(mark), 0),
      memoryBytes: stats.memoryBytes + this.#writer.memory.bytes,
      writtenBytes: this.#written.all,
      mergedBytes: this.#written.merged,
    }
  }

  /** The merge under way is left; its file goes when the folder is next opened. */
  async close(): Promise<void> {
    await this.#merge.close()
    await this.#search.close()
    this.#runs = []
  }

  #run(file: string, mark: RunMark, level: number): LevelRun {
    return { path: join(this.#options.folder, file), mark, level }
  }

  #newFile(): string {
    return `run-${this.#next++}.bin`
  }

  #bits(rows: number): number {
    // Twice: while runs are merged, the filters of both sides are in memory.
    const fitting = Math.floor((8 * this.#options.filterBytes) / (2.2 * Math.max(1, rows)))
    return Math.max(LEAST_BITS, Math.min(BITS_PER_ROW, fitting))
  }

  #beginMerge(): void {
    if (this.#merging) return
    const levels = [...new Set(this.#runs.map(({ level }) => level))].sort((a, b) => a - b)
    const full = levels.find((level) => this.#runs.filter((run) => run.level === level).length >= FAN_OUT)
    if (full === undefined) return
    const runs = this.#runs.filter(({ level }) => level === full)
    const file = this.#newFile()
    const bitsPerRow = this.#bits(this.entries)
    const rows = runs.reduce((sum, { mark }) => sum + mark.rows, 0)
    this.#merging = { runs, file, indexBytes: (rows * bitsPerRow) / 8 }
    const stored = runs.map(({ path, mark }) => ({ path, mark }))
    this.#merge.begin({ runs: stored, path: join(this.#options.folder, file), bitsPerRow, isDurable: this.#isDurable })
  }

  #lookAfterMerge(): void {
    try {
      this.#takeMerged(false)
    } catch (error) {
      this.#failure = error
    }
  }

  #sayFailure(): void {
    const failure = this.#failure
    this.#failure = undefined
    if (failure !== undefined) throw failure
  }

  /** One merge may make the next one due; a run that is being merged may not be dropped. */
  #endMerges(): void {
    while (this.#merging) this.#takeMerged(true)
  }

  /** What was merged takes the place of its parts. */
  #takeMerged(wait: boolean): void {
    const merging = this.#merging
    if (!merging) return
    const mark = this.#writing(
      () => this.#merge.result(wait),
      () => (this.#merging = undefined),
    )
    if (!mark) return
    this.#merging = undefined
    const { runs, file } = merging
    const merged = this.#run(file, mark, runs[0]!.level + 1)
    this.#runs = this.#runs.flatMap((run) => (run === runs[0] ? [merged] : runs.includes(run) ? [] : [run]))
    this.#written.all += bytesOf(mark)
    this.#written.merged += bytesOf(mark)
    this.#list()
    this.#drop(runs)
    this.#beginMerge()
  }

  #drop(runs: readonly LevelRun[]): void {
    this.#search.settle()
    for (const { path } of runs) unlinkSync(path)
  }

  /** From now on these are the runs, here and for whoever opens the folder. */
  #list(): void {
    const { folder, job } = this.#options
    this.#search.use(this.#runs)
    const runs = this.#runs.map(({ path, level }) => ({ file: path.slice(folder.length + 1), level }))
    this.#writing(() =>
      writeManifest(folder, { ...kindOf(this.#options), job, next: this.#next, runs }, this.#isDurable),
    )
  }

  #writing<T>(work: () => T, onError?: () => void): T {
    try {
      return work()
    } catch (error) {
      onError?.()
      const { code } = error as NodeJS.ErrnoException
      if (isUserError(error)) throw error
      if (code === 'ENOSPC' || code === 'EDQUOT') throw tierFull(this.#options, error)
      if (code === 'EIO' || code === 'EROFS') throw tierRead(this.#options.folder, error)
      throw error
    }
  }
}

const bytesOf = ({ pages, pageBytes, filterBlocks }: RunMark) => pages * (pageBytes + 4) + 64 * filterBlocks

function kindOf({ table, layout, rowBytes }: RunKind): RunKind {
  return { table, layout, rowBytes }
}
