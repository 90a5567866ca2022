/** @file Which processes make up the group and what carries their numbers. Plain data, for the communication thread. */
import type { Identity } from '../net/index.ts'

export type GroupPlan = RingPlan | MpiPlan | { readonly kind: 'alone' }

export interface RingPlan {
  readonly kind: 'ring'
  readonly rank: number
  /** host:port by rank. */
  readonly endpoints: readonly string[]
  readonly identity: Pick<Identity, 'jobId' | 'token'>
  /** The listening socket of this rank's port, inherited from the launcher. */
  readonly descriptor?: number
  /** How long the other ranks may take to come up. @default 5 minutes */
  readonly startTimeoutMs?: number
  /** How long a rank may be silent until it counts as gone. @default 3500 */
  readonly deadAfterMs?: number
  /** What ranks of one host use. @default memory, where all ranks are on one host and the system allows it */
  readonly within?: 'memory' | 'sockets'
}

export interface MpiPlan {
  readonly kind: 'mpi'
  /** Paths or names of libraries to try, the likeliest first. */
  readonly libraries: readonly string[]
  /** How many ranks the launcher says there are; undefined when it does not. */
  readonly size: number | undefined
}
