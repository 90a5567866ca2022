/** @file The class Reader of PaddleRec 1.x, which makes samples of lines, as a RecDataset, which makes samples of files. */
import { anyFiles, contentOf } from '../../base/fs/index.ts'
import { linesOf } from '../text/long-line.ts'
import type { RecDatasetClass, Sample, SampleValue } from './rec-dataset.ts'

/** Samples of a line: each a list of [slot, values]. One line may give none or many. */
export type LineSamples = Iterable<readonly (readonly [string, SampleValue])[] | null | undefined>

/** What a 1.x reader.ts exports as `Reader`, or under `reader_class_name`. */
export interface LineReader {
  /** Called once before the first line. */
  init?(): void | Promise<void>
  generateSample(line: string): LineSamples | (() => LineSamples)
}
type LineReaderClass = new (config: unknown) => LineReader

export function isLineReader(found: unknown): found is LineReaderClass {
  return typeof found === 'function' && typeof (found.prototype as Partial<LineReader>)?.generateSample === 'function'
}

export function lineDataset(Reader: LineReaderClass): RecDatasetClass {
  return class {
    readonly #files: readonly string[]
    readonly #reader: LineReader

    constructor(files: readonly string[], config: unknown) {
      this.#files = files
      this.#reader = new Reader(config)
    }

    async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
      await this.#reader.init?.()
      for (const file of this.#files) {
        for await (const line of linesOf(contentOf(anyFiles, file), file)) {
          const samples = this.#reader.generateSample(line)
          for (const sample of typeof samples === 'function' ? samples() : samples)
            if (sample) yield Object.fromEntries(sample)
        }
      }
    }
  }
}
