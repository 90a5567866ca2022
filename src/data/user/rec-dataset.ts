/** @file What a user's own reader is: a module reader.ts that exports a class RecDataset. */
import { fileURLToPath } from 'node:url'
import { anyFiles, contentOf } from '../../base/fs/index.ts'

/** A sign as a safe integer, a bigint or decimal text; dense values as numbers. One value or several. */
export type SampleValue = number | bigint | string | ArrayLike<number | bigint | string>

/** One sample: values in slot order, or by slot name. */
export type Sample = readonly SampleValue[] | Readonly<Record<string, SampleValue>>

/**
 * An iterable over the samples of the files it was given. Each reader thread makes one for each file.
 *
 * @example
 * export class RecDataset extends BaseRecDataset<{ sparse_inputs_slots: number }> {
 *   async *[Symbol.asyncIterator]() {
 *     for await (const line of this.lines()) yield { click: Number(line[0]), '1': [5], dense_feature: [0.5] }
 *   }
 * }
 */
export type RecDataset = (Iterable<Sample> | AsyncIterable<Sample>) & { readonly sequencesRead?: Sequences }

export type RecDatasetClass = new (fileList: readonly string[], config: unknown, pass?: ReaderPass) => RecDataset

/** What is the same in every run with the same `runner.seed`, and another in each epoch and for each file. */
export interface ReaderPass {
  /** For whatever a reader draws (negatives, an order): a whole number below 2^31. */
  readonly seed: number
}

/** Sequences that were read, and how many of them are longer than what a model reads of one. */
export interface Sequences {
  all: number
  cut: number
  most: number
}

/** Keeps what the constructor is given; a class of your own with the same constructor does as well. */
export class BaseRecDataset<Config = unknown> {
  readonly fileList: readonly string[]
  readonly config: Config
  readonly pass: ReaderPass
  /** What `latest` has cut so far. */
  readonly sequencesRead: Sequences = { all: 0, cut: 0, most: 0 }

  constructor(fileList: readonly string[], config: Config, pass: ReaderPass = { seed: 0 }) {
    this.fileList = fileList
    this.config = config
    this.pass = pass
  }

  /** The lines of all files, plain or .gz; blank ones left out. */
  async *lines(): AsyncGenerator<string> {
    for (const file of this.fileList) yield* readLines(file)
  }

  /** The last `most` of a sequence. How many had more is said once, when all are read: cut them here rather than by `slice`. */
  protected latest<T>(sequence: readonly T[], most: number): T[] {
    const { sequencesRead: read } = this
    read.all++
    read.most = Math.max(read.most, most)
    if (sequence.length > most) read.cut++
    return sequence.slice(-most)
  }
}

/** Lines without their ends, blank ones left out; a path ending in .gz is unpacked, an address of HDFS or S3 is read there. */
export async function* readLines(file: string | URL): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const data of contentOf(anyFiles, typeof file === 'string' ? file : fileURLToPath(file))) {
    const lines = (rest + decoder.decode(data, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) if (line.trim() !== '') yield withoutEnd(line)
  }
  if (rest.trim() !== '') yield withoutEnd(rest)
}

const withoutEnd = (line: string) => (line.endsWith('\r') ? line.slice(0, -1) : line)
