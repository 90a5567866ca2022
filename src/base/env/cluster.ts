/** @file Who a process is in a distributed job: its role, rank and peers. Read from the environment in one place. */
import { createHash } from 'node:crypto'
import { defined, UserError } from '../util/index.ts'
import { checkGloo, type Env, envError, required, wholeNumber } from './cluster-env.ts'
import { parseEndpoints } from './endpoint.ts'
import { silenceSetting } from './ps-flags.ts'
import { jobHosts, jobToken, type TlsSetting, tlsSetting } from './secrets.ts'

export const PROCESS_ROLES = ['local', 'worker', 'server'] as const
export type ProcessRole = (typeof PROCESS_ROLES)[number]

export interface Cluster {
  /** `local`: no distributed environment; train in this process alone. */
  readonly role: ProcessRole
  /** This process among those of its role, from 0. */
  readonly rank: number
  /** host:port of every server, by rank. */
  readonly servers: readonly string[]
  /** So many of the servers, the first ones, hold tables; the others hold dense weights. @default all hold both */
  readonly tableServers?: number | undefined
  /** host:port of every worker, by rank; empty when only their number is known. */
  readonly workers: readonly string[]
  readonly workerNum: number
  /** This process's own host:port; empty where nothing says it (local, and workers of launch_ps, which have no port). */
  readonly endpoint: string
  /** Names the job, so that a stray client of another is refused. */
  readonly jobId: string
  /** Shared secret of the job. Derived from the server list where nothing sets it: against mix-ups, not attackers. */
  readonly token: string
  /** True when nothing set the token: worth saying once. */
  readonly derivedToken?: boolean | undefined
  /** The launcher has said so. */
  readonly isTokenWarned?: boolean | undefined
  /** Hosts of the job, where something besides the lists names them. */
  readonly hosts?: readonly string[] | undefined
  /** What encrypts connections between processes. @default nothing */
  readonly tls?: TlsSetting | undefined
  /** How long a process may be silent until it counts as gone. @default 10 seconds */
  readonly silenceMs?: number | undefined
  /** Listening sockets inherited from the launcher, by port: file descriptors. */
  readonly inherited: Readonly<Record<number, number>>
}

export const LOCAL_CLUSTER: Cluster = {
  role: 'local',
  rank: 0,
  servers: [],
  workers: [],
  workerNum: 1,
  endpoint: '',
  jobId: 'local',
  token: '',
  inherited: {},
}

/** The environment of this process: programs of users, unlike commands, are not handed one. */
export function processEnv(): Env {
  return process.env
}

/** onnxruntime reports its use to its makers unless this is set; nobody here has agreed to that. Threads inherit it. */
export function refuseTelemetry(): void {
  process.env['ORT_DISABLE_TELEMETRY'] ??= '1'
}

/** PaddleCloudRoleMaker's reading of the environment, parameter-server side; `local` when there is no server list. */
export function clusterFromEnv(env: Env): Cluster {
  if (!env['PADDLE_PSERVERS_IP_PORT_LIST']) {
    // A worker without servers trains alone, as the original has it; a server without servers would do so unnoticed.
    if (env['TRAINING_ROLE'] === 'PSERVER') required(env, 'PADDLE_PSERVERS_IP_PORT_LIST')
    return LOCAL_CLUSTER
  }
  const servers = parseEndpoints('PADDLE_PSERVERS_IP_PORT_LIST', env['PADDLE_PSERVERS_IP_PORT_LIST'])
  const workers = parseEndpoints('PADDLE_TRAINER_ENDPOINTS', env['PADDLE_TRAINER_ENDPOINTS'] ?? '')
  const workerNum = wholeNumber(env, 'PADDLE_TRAINERS_NUM', 1, Number.POSITIVE_INFINITY)
  if (workers.length > 0 && workers.length !== workerNum)
    throw envError('PADDLE_TRAINERS_NUM', `it is ${workerNum}, but PADDLE_TRAINER_ENDPOINTS lists ${workers.length}`)
  const job = { servers, workers, workerNum }
  const own = ROLE_READERS[trainingRole(env)](env, job)
  checkGloo(env)
  return { ...own, ...job, ...jobSecrets(env, job), inherited: inheritedSockets(env) }
}

export interface NamedCluster extends Pick<Cluster, 'role' | 'rank' | 'servers' | 'tableServers' | 'workerNum'> {
  /** A server's own. @default none */
  readonly endpoint?: string
}

/** A job that a program describes by itself; the environment only says which job it is. */
export function namedCluster(named: NamedCluster, env: Env = process.env): Cluster {
  return { endpoint: '', workers: [], ...named, ...jobSecrets(env, named), inherited: inheritedSockets(env) }
}

type Job = Pick<Cluster, 'servers' | 'workers' | 'workerNum'>
type Own = Pick<Cluster, 'role' | 'rank' | 'endpoint'>

function trainingRole(env: Env): keyof typeof ROLE_READERS {
  const role = required(env, 'TRAINING_ROLE')
  if (role in ROLE_READERS) return role as keyof typeof ROLE_READERS
  throw new UserError(
    `TRAINING_ROLE must be PSERVER or TRAINER or HETER_TRAINER or COORDINATOR, but get ${role}, please check your environment.`,
    { code: 'CLUSTER_ENV', hint: 'Oarfish has PSERVER and TRAINER.' },
  )
}

const ROLE_READERS = {
  TRAINER: readWorker,
  PSERVER: readServer,
  HETER_TRAINER: refuse('Heterogeneous training'),
  COORDINATOR: refuse('Federated training with a coordinator'),
} as const satisfies Record<string, (env: Env, job: Job) => Own>

function readWorker(env: Env, { workers, workerNum }: Job): Own {
  const rank = wholeNumber(env, 'PADDLE_TRAINER_ID', 0, workerNum - 1)
  // Paddle 1.x and its launch_ps give workers no endpoint; 2.x, which lists them all, requires the own one.
  if (workers.length === 0 && !(env['PADDLE_PORT'] && env['POD_IP'])) return { role: 'worker', rank, endpoint: '' }
  return { role: 'worker', rank, endpoint: ownEndpoint(env) }
}

function readServer(env: Env, { servers }: Job): Own {
  if (env['PADDLE_PSERVER_ID'] && !env['POD_IP']) {
    const rank = wholeNumber(env, 'PADDLE_PSERVER_ID', 0, servers.length - 1)
    return { role: 'server', rank, endpoint: servers[rank]! }
  }
  const endpoint = ownEndpoint(env)
  const rank = servers.indexOf(endpoint)
  if (rank >= 0) return { role: 'server', rank, endpoint }
  throw new UserError(
    `This server is ${endpoint} by POD_IP and PADDLE_PORT, which is not in PADDLE_PSERVERS_IP_PORT_LIST: ${servers.join(',')}.`,
    { code: 'CLUSTER_ENV', hint: 'Write the same host in POD_IP and in the list, as a name or as an address in both.' },
  )
}

function refuse(what: string) {
  return (): never => {
    throw new UserError(`${what} is not part of Oarfish.`, {
      code: 'CLUSTER_ENV',
      hint: 'Set TRAINING_ROLE to TRAINER or PSERVER.',
    })
  }
}

function ownEndpoint(env: Env): string {
  const port = wholeNumber(env, 'PADDLE_PORT', 1, 65_535)
  return `${required(env, 'POD_IP')}:${port}`
}

/** What distinguishes this job from others. All processes of a job have the same server list and worker count, so both can be derived. */
export function jobSecrets(env: Env, { servers, workerNum }: Pick<Job, 'servers' | 'workerNum'>) {
  const digest = createHash('sha256')
    .update(`${servers.join(',')} ${workerNum}`)
    .digest('hex')
  return {
    jobId: env['OARFISH_JOB_ID'] || env['SYS_JOB_ID'] || digest.slice(0, 12),
    ...jobToken(env, digest),
    ...defined({ tls: tlsSetting(env), hosts: jobHosts(env), silenceMs: silenceSetting(env) }),
  }
}

export function inheritedSockets(env: Env): Readonly<Record<number, number>> {
  const pairs = (env['OARFISH_LISTEN_FDS'] ?? '').split(',').filter(Boolean)
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, port, fd] = /^(\d+):(\d+)$/.exec(pair) ?? []
      if (port === undefined) throw envError('OARFISH_LISTEN_FDS', `expected port:fd, got "${pair}"`)
      return [Number(port), Number(fd)]
    }),
  )
}
