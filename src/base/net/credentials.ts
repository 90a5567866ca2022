/** @file What a process of a job needs to know the others by: the job's name and token, keys, and where others may be. */
import type { Identity } from './handshake.ts'
import { splitEndpoint } from './socket.ts'
import { openTls, type TlsSetting } from './tls-keys.ts'

export interface JobSecrets {
  readonly jobId: string
  readonly token: string
  /** The token is made of what anybody may know. */
  readonly derivedToken?: boolean | undefined
  readonly tls?: TlsSetting | undefined
  /** How long a process may be silent until it counts as gone. @default 10 seconds */
  readonly silenceMs?: number | undefined
  /** Where something names the hosts of the job besides their endpoints. */
  readonly hosts?: readonly string[] | undefined
}

export type Credentials = Pick<Identity, 'jobId' | 'token' | 'tls' | 'hosts' | 'silenceMs'>

/** `endpoints`: host:port of every process that may connect; empty where the job does not name them. */
export function credentialsOf(secrets: JobSecrets, endpoints: readonly string[]): Credentials {
  const { jobId, token, derivedToken, tls, silenceMs } = secrets
  const named = [...endpoints.map((endpoint) => splitEndpoint(endpoint).host), ...(secrets.hosts ?? [])]
  const hosts = derivedToken && named.length > 0 ? named : undefined
  return { jobId, token, tls: openTls(tls, secrets), hosts, silenceMs }
}
