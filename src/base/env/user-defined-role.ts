/** @file UserDefinedRoleMaker: a program that knows its role by itself says so instead of the environment. */
import { UserError } from '../util/index.ts'
import { type Cluster, jobSecrets } from './cluster.ts'
import type { Env } from './cluster-env.ts'
import { parseEndpoints } from './endpoint.ts'

export interface UserDefinedRoleOptions {
  readonly currentId: number
  readonly role: 'worker' | 'server'
  /** 0: the number of worker endpoints. */
  readonly workerNum?: number
  readonly serverEndpoints: readonly string[]
  readonly workerEndpoints?: readonly string[]
  /** For OARFISH_JOB_ID and OARFISH_JOB_TOKEN. */
  readonly env?: Env
}

/** The cluster such a program describes, checked with the original's messages. */
export function userDefinedCluster(options: UserDefinedRoleOptions): Cluster {
  const { currentId, role, serverEndpoints, workerEndpoints = [], env = {} } = options
  const isStrings = Array.isArray(serverEndpoints) && serverEndpoints.every((entry) => typeof entry === 'string')
  check(isStrings, 'server_endpoints must be as string list')
  check(serverEndpoints.length > 0, 'the length of server_endpoints list must be greater than 0')
  check(new Set(serverEndpoints).size === serverEndpoints.length, "server_endpoints can't have duplicate elements")
  check(role === 'worker' || role === 'server', 'role must be as Role')
  check(Number.isInteger(currentId), 'current_id must be as int')
  check(currentId >= 0, 'current_id must be greater than or equal to 0')
  const workerNum = options.workerNum || workerEndpoints.length
  check(workerNum > 0, 'worker_num must be greater than 0')
  const servers = parseEndpoints('server_endpoints', serverEndpoints.join(','))
  const workers = parseEndpoints('worker_endpoints', workerEndpoints.join(','))
  const [peers, count] = role === 'server' ? [servers, servers.length] : [workers, workerNum]
  check(currentId < count, `current_id must be less than the number of ${role}s, ${count}, but get ${currentId}`)
  const secrets = jobSecrets(env, { servers, workerNum })
  return {
    role,
    rank: currentId,
    servers,
    workers,
    workerNum,
    endpoint: peers[currentId] ?? '',
    ...secrets,
    inherited: {},
  }
}

function check(holds: boolean, message: string): void {
  if (!holds) throw new UserError(`UserDefinedRoleMaker: ${message}.`, { code: 'CLUSTER_ROLE' })
}
