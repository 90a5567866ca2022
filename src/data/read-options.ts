/** @file What a pass over the input is asked for, and what it gives. */
import type { TextFormat } from '../base/kernel/index.ts'
import type { Batch, Cursor } from './batch.ts'
import type { Part, PlanOptions } from './plan.ts'

/** What a pass reads. */
export interface InputOptions extends PlanOptions {
  readonly files: readonly string[]
  /** @default 'auto': by the first line of the first file */
  readonly format?: 'auto' | TextFormat | undefined
  /** Reads only this worker's block of the chunks. @default all */
  readonly part?: Part | undefined
  /**
   * Asks which chunk to read next, by its place in the plan of all, instead of reading `part` in order; undefined: none now.
   * Asked again with `idle` once everything claimed so far is parsed; none then is the end.
   */
  readonly claim?: ((idle: boolean, of: number) => Promise<number | undefined>) | undefined
  /** The places of this reader's chunks, in order: with `claim`, those claimed before the pass goes on; without it, all. @default as `part` says */
  readonly claimed?: readonly number[] | undefined
  /** Chunks whose first samples were read before, by another one. @default none */
  readonly begun?: readonly BegunChunk[] | undefined
}

/** By its place in the plan of all. */
export interface BegunChunk {
  readonly place: number
  /** So many of its samples are left out. */
  readonly sample: number
  /** Of these, where reading them again could give others. */
  readonly checksum?: number | undefined
}

export interface ReadOptions extends InputOptions {
  readonly batchSize: number
  /** Leaves out the last batch where it is smaller than the others. @default false */
  readonly dropLast?: boolean | undefined
  /** Goes on behind a batch's cursor; `batch` is the index of the first batch then. @default the beginning */
  readonly start?: (Cursor & { readonly batch?: number | undefined }) | undefined
  /** For the user to know: an undeclared slot (once by name), an empty file, how many bad lines were skipped. */
  readonly onNotice?: ((message: string) => void) | undefined
  /** Called with each chunk that was read to its end: its place in the plan of all, how many there are, and its samples. */
  readonly onChunk?: ((place: number, of: number, samples: number) => void) | undefined
  /** Called with the texts before the slots of each sample, part by part in order, where the data has them. */
  readonly onLeading?: ((texts: readonly (readonly string[])[]) => void) | undefined
}

/** Batches of one pass. Reading begins at once: iterate it (once; leaving the loop closes it) or close it. */
export interface BatchReader extends AsyncIterable<Batch> {
  readonly totalBytes: number
  close(): Promise<void>
}
