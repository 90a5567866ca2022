/** @file The seam inside a server: what keeps weights and applies gradients. One implementation on kernels, one plain and exact. */
import type { Values } from '../params/index.ts'
import type { Precision, SignGroups } from './protocol.ts'

/** Gradients of one step, of one worker's thread or of several merged. */
export interface Gradients extends SignGroups {
  /** By table, [signs, dim]. */
  readonly gradients: readonly Values[]
  /** This server's slice of dense gradients and new state. */
  readonly dense: Values
}

export interface Contribution extends Gradients {
  readonly samples: number
}

export interface ParamStore {
  readonly precision: Precision
  /** Weights per row, by table. */
  readonly dims: readonly number[]
  /** Dense values of this server's slice. */
  readonly denseSize: number
  /** Optimizer steps applied so far. */
  readonly steps: number
  /** Copies rows and dense weights; the copies belong to the caller. */
  pull(signs: SignGroups, insert: boolean): { readonly rows: readonly Values[]; readonly weights: Values }
  /** One optimizer step; returns its number. */
  push(gradients: Gradients): number
  /** Several contributions as one: by sign, in the order given, weighted by samples. */
  merge(contributions: readonly Contribution[]): Gradients
}
