/** @file What a user's own reader is: a module reader.ts that exports a class RecDataset. */
import { readLines } from './read-lines.ts'

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
export type RecDataset = Iterable<Sample> | AsyncIterable<Sample>

export type RecDatasetClass = new (fileList: readonly string[], config: unknown) => RecDataset

/** Keeps what the constructor is given; a class of your own with the same constructor does as well. */
export class BaseRecDataset<Config = unknown> {
  readonly fileList: readonly string[]
  readonly config: Config

  constructor(fileList: readonly string[], config: Config) {
    this.fileList = fileList
    this.config = config
  }

  /** The lines of all files, plain or .gz; blank ones left out. */
  async *lines(): AsyncGenerator<string> {
    for (const file of this.fileList) yield* readLines(file)
  }
}
