/** @file The environment variables of a distributed process: what each means, and how one is read. */
import { UserError } from '../util/index.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** Every variable that is read, with its meaning: printed when one is missing or wrong, and listed in docs/guide/launch.md. */
export const CLUSTER_ENV = {
  PADDLE_PSERVERS_IP_PORT_LIST: 'host:port of every server, in rank order; without it the process trains alone',
  PADDLE_TRAINER_ENDPOINTS: 'host:port of every worker, in rank order; may be left out',
  PADDLE_TRAINERS_NUM: 'the number of workers of the whole job',
  TRAINING_ROLE: 'what this process is: TRAINER (a worker) or PSERVER (a server)',
  PADDLE_TRAINER_ID: 'the rank of this worker, from 0 to PADDLE_TRAINERS_NUM - 1',
  PADDLE_PSERVER_ID: 'the rank of this server, where POD_IP and PADDLE_PORT do not say it',
  POD_IP: 'the host of this process as it stands in the lists',
  PADDLE_PORT: 'the port of this process as it stands in the lists',
  PADDLE_WITH_GLOO:
    '0, 1 or 2; Oarfish needs no Gloo, its barriers go through the servers: with 1 or 2 the rendezvous is only checked',
  PADDLE_GLOO_RENDEZVOUS: "where Gloo's processes would find each other: 1 HDFS, 2 a shared folder, 3 HTTP",
  PADDLE_GLOO_FS_NAME: 'the file system of an HDFS rendezvous',
  PADDLE_GLOO_FS_UGI: 'user and password of an HDFS rendezvous',
  PADDLE_GLOO_FS_PATH: 'the folder of an HDFS or shared-folder rendezvous',
  PADDLE_GLOO_HTTP_ENDPOINT: 'host:port of an HTTP rendezvous, on the first server',
  SYS_JOB_ID: "the job's name, where OARFISH_JOB_ID is not set",
  OARFISH_JOB_ID: 'names the job, so that processes of another are refused',
  OARFISH_JOB_TOKEN: "the job's shared secret; without it one is derived from the server list and the worker count",
  OARFISH_REQUIRE_TOKEN: '1: a process of several refuses to start without OARFISH_JOB_TOKEN',
  OARFISH_JOB_HOSTS:
    'hosts of the job with commas between: without OARFISH_JOB_TOKEN no other may connect; launchers that know them set it',
  OARFISH_TLS:
    'auto, or the paths of certificate, key and authority with commas between: encrypts connections between processes, before runner.tls',
  OARFISH_SILENCE_LIMIT:
    'seconds that a process may be silent until it counts as gone, 10 where nothing is set; runner.silence_limit comes first',
  OARFISH_FULL_SHM: 'sockets: a launch goes on where /dev/shm is full, and processes of the host exchange over sockets',
  OARFISH_STANDBY:
    '0: a launch makes no processes of its next start ahead; 1 in a process that was made so, and waits for its turn',
  PADDLE_TRAINING_ROLE: 'what this process of a collective job is: TRAINER, as all of them',
  OARFISH_LISTEN_FDS: 'listening sockets inherited from the launcher, as port:fd,port:fd',
} as const
export type ClusterVariable = keyof typeof CLUSTER_ENV

/** A variable that is set and not empty; its absence is an error in the original's words with the meaning beside them. */
export function required(env: Env, name: ClusterVariable): string {
  const value = env[name]
  if (value !== undefined && value !== '') return value
  throw new UserError(`Can not find ${name}, please check your environment.`, {
    code: 'CLUSTER_ENV',
    hint: `${name} is ${CLUSTER_ENV[name]}. fleetrun sets it for every process it starts.`,
  })
}

/** A whole number from `min` to `max`. */
export function wholeNumber(env: Env, name: ClusterVariable, min: number, max: number): number {
  const text = required(env, name)
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  const range = max === Number.POSITIVE_INFINITY ? `of at least ${min}` : `from ${min} to ${max}`
  throw envError(name, `expected a whole number ${range}, got "${text}"`)
}

export function envError(name: ClusterVariable, problem: string): UserError {
  return new UserError(`${name}: ${problem}.`, { code: 'CLUSTER_ENV', hint: `${name} is ${CLUSTER_ENV[name]}.` })
}

const RENDEZVOUS: Readonly<Record<string, readonly ClusterVariable[]>> = {
  '1': ['PADDLE_GLOO_FS_NAME', 'PADDLE_GLOO_FS_UGI', 'PADDLE_GLOO_FS_PATH'],
  '2': ['PADDLE_GLOO_FS_PATH'],
  '3': ['PADDLE_GLOO_HTTP_ENDPOINT'],
}

/** Refuses what the original refuses, though nothing here uses Gloo: a wrong environment is wrong for a reason. */
export function checkGloo(env: Env): void {
  if (env['PADDLE_WITH_GLOO'] !== '1' && env['PADDLE_WITH_GLOO'] !== '2') return
  const type = env['PADDLE_GLOO_RENDEZVOUS'] ?? '0'
  const needed = RENDEZVOUS[type]
  const missing = needed?.filter((name) => !env[name])
  if (missing?.length === 0) return
  const problem = missing
    ? `PADDLE_GLOO_RENDEZVOUS is ${type}, which needs ${missing.join(', ')}`
    : `PADDLE_GLOO_RENDEZVOUS is "${type}", expected 1 (HDFS), 2 (a shared folder) or 3 (HTTP)`
  throw new UserError(`gloo initialized error, please check arguments: ${problem}.`, {
    code: 'CLUSTER_ENV',
    hint: 'Oarfish needs no Gloo: unset PADDLE_WITH_GLOO.',
  })
}

/** Whether the launcher has started this process again, to go on from the last checkpoint. */
export const startedAgain = (env: Env) => env['OARFISH_RESUME'] === '1'

/** The job of this process, over all its starts, as whoever supervises it knows it; undefined: nobody starts it again under that name. */
export const jobUid = (env: Env): string | undefined => env['OARFISH_JOB_UID'] || undefined

/** Processes that are started together may be minutes apart, those that are started again are not: their launchers are all there, or will not come. */
const [START_MS, START_AGAIN_MS] = [5 * 60_000, 60_000]

/** How long the other processes of the job may take to come up. */
export const startTimeoutOf = (env: Env) => (Number(env['OARFISH_RESTART'] ?? 0) > 0 ? START_AGAIN_MS : START_MS)
