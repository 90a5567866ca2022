/** @file The environment of each process, variable for variable as Paddle's launchers set it. Pure. */
import type { Env } from '../env/index.ts'

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

/** fleetrun's variables, over the caller's environment. */
export function fleetrunEnv(env: Env, job: JobAddresses, own: ProcessIdentity, gloo: GlooSettings): Env {
  return {
    ...callerEnv(env),
    PADDLE_PSERVERS_IP_PORT_LIST: job.servers.join(','),
    PADDLE_TRAINER_ENDPOINTS: job.workers.join(','),
    PADDLE_COORDINATOR_ENDPOINTS: '',
    ...ownVariables(own, job),
    ...(own.role === 'worker' && {
      PADDLE_TRAINER_ID: String(own.rank),
      FLAGS_selected_gpus: '0',
      FLAGS_selected_xpus: '0',
      CUDA_VISIBLE_DEVICES: '0',
      XPU_VISIBLE_DEVICES: '0',
    }),
    PADDLE_WITH_GLOO: env['PADDLE_WITH_GLOO'] ?? '0',
    PADDLE_GLOO_RENDEZVOUS: '3',
    PADDLE_GLOO_FS_PATH: gloo.folder,
    PADDLE_GLOO_HTTP_ENDPOINT: gloo.endpoint,
  }
}

/** launch_ps's variables. Its workers also see the last server's PADDLE_PORT and POD_IP, by oversight: not here. */
export function launchPsEnv(env: Env, job: JobAddresses, own: ProcessIdentity): Env {
  return {
    ...callerEnv(env),
    PADDLE_PSERVERS_IP_PORT_LIST: job.servers.join(','),
    ...(job.workers.length > 0 && { PADDLE_TRAINER_ENDPOINTS: job.workers.join(',') }),
    ...ownVariables(own, job),
    ...(own.role === 'worker' && { PADDLE_TRAINER_ID: String(own.rank) }),
  }
}

function ownVariables({ role, endpoint }: ProcessIdentity, { workerNum }: JobAddresses): Env {
  const colon = endpoint.lastIndexOf(':')
  return {
    TRAINING_ROLE: TRAINING_ROLES[role],
    PADDLE_TRAINERS_NUM: String(workerNum),
    ...(colon > 0 && { POD_IP: endpoint.slice(0, colon), PADDLE_PORT: endpoint.slice(colon + 1) }),
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
]

export function callerEnv(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !NOT_INHERITED.includes(name)))
}
