/** @file The seam of training: where weights live. A step pulls what a batch needs and pushes gradients; when they travel is the strategy's business. */
import type { TraceContext } from '../../base/trace/index.ts'
import type { DistinctSigns } from '../table/index.ts'
import type { LinkCount } from './link-count.ts'

/** Weights and gradients: float32, or float64 where exactness is tested. */
export type Values = Float32Array | Float64Array

/** One table's part of a batch. `rows` is filled by pull; `gradients` (merged by distinct sign) is read by push. Both [distinct, dim]. */
export interface BatchRows<V extends Values = Float32Array> {
  readonly table: number
  readonly distinct: DistinctSigns
  readonly rows: V
  readonly gradients: V
  /** No pull has looked these signs up: push does, and makes rows that are missing. @default false */
  readonly unseen?: boolean | undefined
  /** Slot, show and click of each sign, [distinct, 3]: read by push where the table has an accessor. */
  readonly showClick?: Float32Array | undefined
}

/** A batch as parameters see it. Buffers belong to the caller and are reused for the next batch. */
export interface BatchParams<V extends Values = Float32Array> {
  /** This is one of so many slices of a batch, whose dense gradients make one step together. */
  readonly slices?: number | undefined
  /** How many samples the gradients are the mean of. */
  readonly samples: number
  /** Of the whole batch, where this is a slice of it. @default samples */
  readonly batchSamples?: number | undefined
  readonly tables: readonly BatchRows<V>[]
  /** All dense weights and state, laid out as the dense layout says: filled by pull. */
  readonly weights: V
  /** Gradients of the trainable weights, then new values of the state: read by push. */
  readonly gradients: V
  /** Names of the weights and states that `gradients` has; the others stay as they are. @default all */
  readonly dense?: ReadonlySet<string> | undefined
}

/** Dense weights and gradients of a thread in memory that the weights' keeper sees too: nothing need be copied between them. */
export interface DenseWindow<V extends Values = Float32Array> {
  readonly weights: V
  readonly gradients: V
}

export interface Params<V extends Values = Float32Array> {
  /** Where weights and gradients of training lie best; steps of one thread may share it, since they run one after the other. */
  readonly window?: DenseWindow<V> | undefined
  /** The next pull or push belongs to this span: those who answer it may say so. */
  traced?(context: TraceContext): void
  /** What has travelled to and from where the weights live, where that is another process. */
  readonly links?: readonly LinkCount[] | undefined
  /** Fills rows and weights. With `insert`, rows that are missing are created; evaluation leaves the tables alone. */
  pull(batch: BatchParams<V>, insert: boolean): void | Promise<void>
  /** Brings the dense weights of a batch up to date whose pull was made ahead of the step before it. */
  refresh?(batch: BatchParams<V>): void | Promise<void>
  /** Dense gradients are known, those of rows follow by push: they may go on their way. */
  begin?(batch: BatchParams<V>): void
  /** Applies or sends the gradients; returns the step's number, counted from 1 over all threads and workers. */
  push(batch: BatchParams<V>): number | Promise<number>
  /** Everything pushed so far is applied when this returns. */
  flush(): void | Promise<void>
}

const NONE = new Float32Array(0)

/** Of a batch its rows alone, where dense weights live elsewhere. */
export function rowsOf({ dense: _, ...share }: BatchParams): BatchParams {
  return { ...share, weights: NONE, gradients: NONE }
}

/** Of a batch its dense weights alone, where rows live elsewhere. */
export function denseOf(share: BatchParams): BatchParams {
  return { ...share, tables: [] }
}
