/** @file The environment of each process, variable for variable as Paddle's launchers set it: with servers, and collective. Pure. */
import { DEVICE_VARIABLE } from '../../base/device/index.ts'
import type { Env } from '../../base/env/index.ts'

export type JobRole = 'server' | 'worker'

/** All a job's processes know of each other, once every port is known. */
export interface JobAddresses {
  readonly servers: readonly string[]
  readonly workers: readonly string[]
  readonly workerNum: number
}

export interface ProcessIdentity {
  readonly role: JobRole
  readonly rank: number
  /** Empty: the process has no endpoint (workers of launch_ps). */
  readonly endpoint: string
}

export interface GlooSettings {
  readonly endpoint: string
  /** A folder of this launch. */
  readonly folder: string
}

const TRAINING_ROLES: Readonly<Record<JobRole, string>> = { server: 'PSERVER', worker: 'TRAINER' }
const FIRST_DEVICE = {
  FLAGS_selected_gpus: '0',
  FLAGS_selected_xpus: '0',
  CUDA_VISIBLE_DEVICES: '0',
  XPU_VISIBLE_DEVICES: '0',
} as const

/** fleetrun's variables, over the caller's environment. */
export function fleetrunEnv(env: Env, job: JobAddresses, own: ProcessIdentity, gloo: GlooSettings): Env {
  return {
    ...callerEnv(env),
    PADDLE_PSERVERS_IP_PORT_LIST: job.servers.join(','),
    PADDLE_TRAINER_ENDPOINTS: job.workers.join(','),
    PADDLE_COORDINATOR_ENDPOINTS: '',
    ...ownVariables(own, job),
    ...(own.role === 'worker' ? { ...FIRST_DEVICE, ...byCustom(env) } : {}),
    PADDLE_WITH_GLOO: env['PADDLE_WITH_GLOO'] ?? '0',
    PADDLE_GLOO_RENDEZVOUS: '3',
    PADDLE_GLOO_FS_PATH: gloo.folder,
    PADDLE_GLOO_HTTP_ENDPOINT: gloo.endpoint,
  }
}

/** Workers are told of a first device whether or not anybody asks for one: unless the caller does, it means nothing. */
function byCustom(env: Env): Env {
  const asked = [DEVICE_VARIABLE, 'FLAGS_selected_gpus', 'CUDA_VISIBLE_DEVICES'].some((name) => env[name])
  return asked ? {} : { [DEVICE_VARIABLE]: '' }
}

/** launch_ps's variables. Its workers also see the last server's PADDLE_PORT and POD_IP, by oversight: not here. */
export function launchPsEnv(env: Env, job: JobAddresses, own: ProcessIdentity): Env {
  return {
    ...callerEnv(env),
    PADDLE_PSERVERS_IP_PORT_LIST: job.servers.join(','),
    ...(job.workers.length > 0 ? { PADDLE_TRAINER_ENDPOINTS: job.workers.join(',') } : {}),
    ...ownVariables(own, job),
  }
}

function ownVariables({ role, rank, endpoint }: ProcessIdentity, { workerNum }: JobAddresses): Env {
  const colon = endpoint.lastIndexOf(':')
  return {
    TRAINING_ROLE: TRAINING_ROLES[role],
    PADDLE_TRAINERS_NUM: String(workerNum),
    ...(role === 'worker' ? { PADDLE_TRAINER_ID: String(rank) } : {}),
    ...(colon > 0 ? { POD_IP: endpoint.slice(0, colon), PADDLE_PORT: endpoint.slice(colon + 1) } : {}),
  }
}

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
  const devicesOfOne = selected === '' ? {} : { FLAGS_selected_gpus: selected, FLAGS_selected_accelerators: selected }
  return {
    ...callerEnv(env),
    PADDLE_TRAINER_ID: String(rank),
    PADDLE_CURRENT_ENDPOINT: own.endpoints[local],
    PADDLE_TRAINERS_NUM: String(endpoints.length),
    PADDLE_TRAINER_ENDPOINTS: endpoints.join(','),
    PADDLE_RANK_IN_NODE: String(local),
    PADDLE_LOCAL_DEVICE_IDS: selected,
    PADDLE_WORLD_DEVICE_IDS: devices.map((ids) => ids.join(':')).join(','),
    ...devicesOfOne,
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

/** What is about the caller itself, not about its children: proxies would catch the job's own traffic; ranks of an outer job would mislead. */
const NOT_INHERITED = [
  'http_proxy',
  'https_proxy',
  'PADDLE_TRAINER_ID',
  'POD_IP',
  'PADDLE_PORT',
  'OARFISH_LISTEN_FDS',
  'OARFISH_LIFELINE',
  'OARFISH_STANDBY',
]

function callerEnv(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !NOT_INHERITED.includes(name)))
}
