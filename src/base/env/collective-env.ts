/** @file Who a process is in a collective job, whose processes are all alike: PaddleCloudRoleMaker's reading, collective side. */
import { UserError } from '../util/index.ts'
import { inheritedSockets, jobSecrets } from './cluster.ts'
import { type Env, wholeNumber } from './cluster-env.ts'
import { parseEndpoint, parseEndpoints } from './endpoint.ts'
import type { TlsSetting } from './secrets.ts'

export interface CollectiveJob {
  readonly rank: number
  /** host:port of every rank; one alone where the environment has no list. */
  readonly endpoints: readonly string[]
  readonly jobId: string
  readonly token: string
  readonly derivedToken?: boolean | undefined
  readonly isTokenWarned?: boolean | undefined
  readonly tls?: TlsSetting | undefined
  readonly silenceMs?: number | undefined
  /** Hosts of the job, where something besides the list names them. */
  readonly hosts?: readonly string[] | undefined
  /** The listening socket of this rank's port, inherited from the launcher. */
  readonly descriptor?: number | undefined
  /** The number of this start, where hosts come and go. */
  readonly membership?: string | undefined
}

const MEMBERSHIP = 'OARFISH_MEMBERSHIP'

/** Whether ranks of this job come and go. */
export const isElastic = (env: Env) => Boolean(env[MEMBERSHIP])

/** Undefined without PADDLE_TRAINER_ENDPOINTS: the process trains alone. */
export function collectiveFromEnv(env: Env): CollectiveJob | undefined {
  const endpoints = parseEndpoints('PADDLE_TRAINER_ENDPOINTS', env['PADDLE_TRAINER_ENDPOINTS'] ?? '')
  if (endpoints.length === 0) return undefined
  const role = env['PADDLE_TRAINING_ROLE'] ?? 'TRAINER'
  if (role !== 'TRAINER')
    throw new UserError(`PADDLE_TRAINING_ROLE must be TRAINER in a collective job, but get ${role}.`, {
      code: 'CLUSTER_ENV',
      hint: 'Unset PADDLE_TRAINING_ROLE, or start parameter servers with static_ps_trainer.',
    })
  const rank = env['PADDLE_TRAINER_ID'] ? wholeNumber(env, 'PADDLE_TRAINER_ID', 0, endpoints.length - 1) : 0
  const job = { servers: endpoints, workerNum: endpoints.length }
  // A rank alone has nobody to keep out.
  const secrets = jobSecrets(endpoints.length > 1 ? env : { ...env, OARFISH_REQUIRE_TOKEN: undefined }, job)
  const descriptor = inheritedSockets(env)[parseEndpoint(endpoints[rank]!)?.port ?? -1]
  return { rank, endpoints, ...secrets, descriptor, membership: env[MEMBERSHIP] }
}
