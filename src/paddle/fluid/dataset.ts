/** @file What datasets have in common: their settings, and where their batches come from. */
import { availableParallelism } from 'node:os'
import { errorsOf } from '../../base/util/index.ts'
import { pipeCommand, type ReaderPool, type ReaderPoolOptions, type Slot } from '../../data/index.ts'
import { RemoteCopies } from './remote-copies.ts'
import type { Variable } from './variable.ts'

export const datasetError = errorsOf('FLUID_DATASET')

/** Files read as they are streamed to the trainer, or all at once into memory. */
export abstract class Dataset {
  #useVar: readonly Variable[] = []
  #pipe = 'cat'
  #batchSize = 1
  #thread = 1
  #files: readonly string[] = []
  #insId = false
  #content = false
  readonly #noticed = new Set<number>()
  readonly #remote = new RemoteCopies()

  /** The data that a line holds, in its order. */
  setUseVar(variables: readonly Variable[]): void {
    const wrong = variables.find(({ source }) => source.kind !== 'data')
    if (wrong) throw datasetError(`"${wrong.name}" is not data`, 'pass what fluid.layers.data returned')
    this.#useVar = variables
  }

  /** A shell command: raw lines of a file on its stdin, MultiSlot text on its stdout. @default cat */
  setPipeCommand(command: string): void {
    this.#pipe = command
  }

  setBatchSize(batchSize: number): void {
    this.#batchSize = whole('setBatchSize', batchSize)
  }

  setThread(thread: number): void {
    this.#thread = whole('setThread', thread)
  }

  setFilelist(files: readonly string[]): void {
    this.#files = [...files]
  }

  /** Files of the list lie in this file system: `hdfs://HOST:PORT` and `user,password`. They are fetched before they are read. */
  setHdfsConfig(fsName: string, fsUgi: string): void {
    this.#remote.from(fsName, fsUgi)
  }

  /** A shell command that prints the file it is given. */
  setDownloadCmd(command: string): void {
    this.#remote.by(command)
  }

  /** Lines begin with `1 {instance id}`. */
  setParseInsId(parse: boolean): void {
    this.#insId = parse
  }

  /** Lines have `1 {content}` before their slots. */
  setParseContent(parse: boolean): void {
    this.#content = parse
  }

  get useVar(): readonly Variable[] {
    return this.#useVar
  }

  get files(): readonly string[] {
    return this.#files
  }

  /** The files as they lie on this host. */
  localFiles(): Promise<readonly string[]> {
    return this.#remote.fetch(this.#files)
  }

  get batchSize(): number {
    return this.#batchSize
  }

  get thread(): number {
    return this.#thread
  }

  /** Threads that find something to read. */
  get threadLimit(): number {
    return Number.POSITIVE_INFINITY
  }

  /** True the first time for a number of threads, so that the notice about it does not come every epoch. */
  noticesThreads(asked: number): boolean {
    const first = !this.#noticed.has(asked)
    this.#noticed.add(asked)
    return first
  }

  /** Equal while open readers still read as they should. */
  settings(): string {
    return JSON.stringify([
      this.#pipe,
      this.#batchSize,
      this.#insId,
      this.#content,
      this.#useVar.map(({ name }) => name),
    ])
  }

  /** Where batches come from. */
  abstract open(slots: readonly Slot[]): Promise<ReaderPool>

  protected readerOptions(slots: readonly Slot[]): ReaderPoolOptions {
    if (slots.length === 0) throw datasetError('the dataset does not know its data', 'dataset.setUseVar([x, y])')
    const piped = this.#pipe.trim() !== 'cat'
    const [cores, dir] = [availableParallelism(), process.cwd()]
    // A command is a process of its own and mostly slower than the trainer: as many at once as were asked for.
    const threads = piped ? Math.min(this.#thread, this.#files.length, 2 * cores) : Math.min(4, cores - this.#thread)
    const pipe = piped ? pipeCommand({ command: this.#pipe, dir, cwd: dir }) : undefined
    return { slots, threads: Math.max(1, threads), pipe }
  }

  protected get leading() {
    return { parseInsId: this.#insId, parseContent: this.#content }
  }
}

function whole(setter: string, value: number): number {
  if (Number.isInteger(value) && value > 0) return value
  throw datasetError(`${setter}(${value}): expected a whole number above 0`, `${setter}(1)`)
}
