/** @file The environment of each process of a collective job: the variables of both generations of the original. Pure. */
import type { Env } from '../env/index.ts'
import { callerEnv } from './process-env.ts'

/** A host of the job and its processes. */
export interface JobNode {
  readonly host: string
  readonly endpoints: readonly string[]
  /** Indices of each process's devices among those that are visible there. */
  readonly devices: readonly (readonly number[])[]
}

export interface CollectiveJobVariables {
  readonly nodes: readonly JobNode[]
  readonly master: string
  readonly logDir: string
  readonly glooFolder: string
  readonly podName: string
}

/** Process `local` of node `node`. */
export function collectiveEnv(env: Env, job: CollectiveJobVariables, node: number, local: number): Env {
  const { nodes } = job
  const endpoints = nodes.flatMap((one) => one.endpoints)
  const devices = nodes.flatMap((one) => one.devices)
  const own = nodes[node]!
  const rank = nodes.slice(0, node).reduce((sum, one) => sum + one.endpoints.length, 0) + local
  const selected = own.devices[local]!.join(',')
  return {
    ...callerEnv(env),
    PADDLE_TRAINER_ID: String(rank),
    PADDLE_CURRENT_ENDPOINT: own.endpoints[local],
    PADDLE_TRAINERS_NUM: String(endpoints.length),
    PADDLE_TRAINER_ENDPOINTS: endpoints.join(','),
    PADDLE_RANK_IN_NODE: String(local),
    PADDLE_LOCAL_DEVICE_IDS: selected,
    PADDLE_WORLD_DEVICE_IDS: devices.map((ids) => ids.join(':')).join(','),
    ...(selected && { FLAGS_selected_gpus: selected, FLAGS_selected_accelerators: selected }),
    PADDLE_WITH_GLOO: env['PADDLE_WITH_GLOO'] ?? '0',
    PADDLE_GLOO_RENDEZVOUS: '3',
    PADDLE_GLOO_FS_PATH: job.glooFolder,
    PADDLE_DISTRI_BACKEND: 'gloo',
    PADDLE_MASTER: job.master,
    PADDLE_GLOBAL_SIZE: String(endpoints.length),
    PADDLE_LOCAL_SIZE: String(own.endpoints.length),
    PADDLE_GLOBAL_RANK: String(rank),
    PADDLE_LOCAL_RANK: String(local),
    PADDLE_NNODES: String(nodes.length),
    PADDLE_AUTO_CLUSTER: '0',
    PADDLE_LOG_DIR: job.logDir,
    POD_NAME: job.podName,
  }
}
