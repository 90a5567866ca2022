/** @file Whether this process is one of a 1.x job already: a server or a worker that a launcher or a cluster has started. */
import { type Cluster, clusterFromEnv, type Env } from '../../env/index.ts'

export interface NodeV1 {
  readonly cluster: Cluster
  /** The runner this process belongs to; undefined: each that `mode` selects, in turn. */
  readonly runner: string | undefined
}

/** PaddleRec's variables: CLUSTER_INSTANCE and `mode` in a local cluster, PADDLE_PADDLEREC_ROLE on a node of a real one. */
export function nodeFromEnv(env: Env): NodeV1 | undefined {
  if (env['CLUSTER_INSTANCE'] === '1') return { cluster: clusterFromEnv(env), runner: env['mode'] }
  // Only this very text means "I am on a node: train"; anything else means "submit".
  return env['PADDLE_PADDLEREC_ROLE'] === 'WORKER' ? { cluster: clusterFromEnv(env), runner: undefined } : undefined
}

/** What a local cluster's processes find in their environment besides their role. */
export const nodeEnv = (runner: string): Env => ({ CLUSTER_INSTANCE: '1', mode: runner })
