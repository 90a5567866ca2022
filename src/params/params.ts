/** @file The seam of training: where weights live. A step pulls what a batch needs and pushes gradients; when they travel is the strategy's business. */
import type { DistinctSigns } from '../table/index.ts'

/** One table's share of a batch. `rows` is filled by pull; `gradients` (merged by distinct sign) is read by push. Both [distinct, dim]. */
export interface TableShare {
  readonly table: number
  readonly distinct: DistinctSigns
  readonly rows: Float32Array
  readonly gradients: Float32Array
}

/** A batch as parameters see it. Buffers belong to the caller and are reused for the next batch. */
export interface ParamsShare {
  readonly tables: readonly TableShare[]
  /** All dense weights and state, laid out as the dense layout says: filled by pull. */
  readonly weights: Float32Array
  /** Gradients of the trainable weights, then new values of the state: read by push. */
  readonly gradients: Float32Array
}

export interface Params {
  /** Fills rows and weights. With `insert`, rows that are missing are created; evaluation leaves the tables alone. */
  pull(share: ParamsShare, insert: boolean): void | Promise<void>
  /** Applies or sends the gradients; returns the step's number, counted from 1 over all threads and workers. */
  push(share: ParamsShare): number | Promise<number>
  /** Everything pushed so far is applied when this returns. */
  flush(): void | Promise<void>
  close(): void | Promise<void>
}
