/** @file The seam inside a server: what keeps weights and applies gradients. One implementation on kernels, one plain and exact. */
import type { RowGradients, SignGroups, Values } from '../../weights/params/index.ts'
import type { RowShape } from './geo-rules.ts'
import type { Precision } from './runs.ts'

/** Gradients of one step, of one worker's thread or of several merged. */
export interface Gradients extends RowGradients {
  /** Samples that the gradients are the mean of: accessors take their sum. @default 1 */
  readonly samples?: number | undefined
  /** This server's slice of dense gradients and new state. */
  readonly dense: Values
}

export interface Contribution extends Gradients {
  readonly samples: number
}

/** Some rows of a table: weight and optimizer state as bytes. */
export interface RowBlock {
  readonly signs: BigUint64Array
  readonly rows: Uint8Array
}

export interface DenseState {
  readonly bytes: Uint8Array
  readonly steps: number
}

export interface PushOptions {
  /** Rows are applied when what it is given is called: dense weights are new at once. */
  readonly later?: (applyRows: () => void) => void
  /** Gets the new dense weights, so many steps ahead. */
  readonly into?: Values | undefined
  /** See pullDense. @default 0 */
  readonly ahead?: number | undefined
  /** Who pulled these signs before. */
  readonly contributor?: number
  /** Gradients of rows that were kept back, for the step that was made last: they make none. @default false */
  readonly rowsAlone?: boolean
}

/** Rows as geo exchanges them. */
export interface ExchangedRows extends SignGroups {
  /** By table, [signs, dim]. */
  readonly gradients: readonly Values[]
  /** By table, [signs, runs * dim]. */
  readonly states: readonly Values[]
}

export interface ParamStore {
  readonly precision: Precision
  /** By table: what geo exchanges of a row. */
  readonly shapes: readonly RowShape[]
  /** Weights per row, by table. */
  readonly dims: readonly number[]
  /** Dense values of this server's slice. */
  readonly denseSize: number
  /** Optimizer steps applied so far. */
  readonly steps: number
  /** Rows, by table. */
  readonly rowCounts: readonly number[]
  /** Weights of rows, as they are until the next pull. A push of the same contributor with the same signs finds its rows faster. */
  pull(signs: SignGroups, insert: boolean, contributor?: number): readonly Values[]
  /**
   * The dense weights themselves; or, until the next call, as they will be about when `ahead` more gradients are applied: those that
   * others are computing while the asking thread computes its own.
   */
  pullDense(ahead?: number): Values
  /** One optimizer step; returns its number. */
  push(gradients: Gradients, options?: PushOptions): number
  /** Rows with the state that geo exchanges; those that are missing are made. */
  pullRows(signs: SignGroups): Pick<ExchangedRows, 'gradients' | 'states'>
  /** Adds what a geo worker brings in, which has updated the rows so often (by group): no step of the dense weights. */
  addRows(rows: ExchangedRows & { readonly touches: readonly Values[] }): void
  /** A day has passed for a table: show and click fade, rows that are worth too little go. Returns how many. */
  shrink(table: number): number
  /** Whole rows of a table with their state, block by block; views that are valid until the next block. */
  scan(table: number): Generator<RowBlock>
  /** The same of rows that changed since `forgetChanges`. */
  changed(table: number): Generator<RowBlock>
  /** What changed so far is kept elsewhere. */
  forgetChanges(): void
  /** Stores whole rows as scan gives them. */
  load(table: number, block: RowBlock): void
  /** Dense weights and optimizer state of this slice, and the steps that made them. */
  dense(): DenseState
  loadDense(state: DenseState): void
  /** Everything as it was at first: tables are empty. */
  reset(): void
  /** Several contributions as one: by sign, in the order given, weighted by samples. */
  merge(contributions: readonly Contribution[]): Gradients
}
