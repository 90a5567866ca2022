/** @file The job's token and keys as the environment has them, and what is said where it has no token. */
import { UserError } from '../util/index.ts'
import { CLUSTER_ENV, type Env, envError } from './cluster-env.ts'

/** `auto`, or paths of PEM files. */
export type TlsSetting = 'auto' | { readonly cert: string; readonly key: string; readonly ca: string }

export interface JobToken {
  readonly token: string
  /** True when nothing set the token: worth saying once. */
  readonly derivedToken?: boolean | undefined
  /** The launcher has said so. */
  readonly isTokenWarned?: boolean | undefined
}

/** The token that is set; else one that all processes of the job derive alike, as far as that is allowed. */
export function jobToken(env: Env, derived: string): JobToken {
  const token = env['OARFISH_JOB_TOKEN'] ?? ''
  const asked = env['OARFISH_REQUIRE_TOKEN'] ?? ''
  // Who writes `true` wants to be safe, and would not be.
  if (!['', '0', '1'].includes(asked)) throw envError('OARFISH_REQUIRE_TOKEN', `expected 1 or 0, got "${asked}"`)
  if (asked === '1' && token.length < LEAST_CHARACTERS)
    throw new UserError(`OARFISH_JOB_TOKEN ${said(token)}, and OARFISH_REQUIRE_TOKEN=1 asks for it.`, {
      code: 'CLUSTER_TOKEN',
      hint: SET_TOKEN,
    })
  if (token !== '') return { token }
  return env[WARNED] === '1'
    ? { token: derived, derivedToken: true, isTokenWarned: true }
    : { token: derived, derivedToken: true }
}

/** Whoever overhears a proof may try as many tokens as they have time for: a word is soon found. */
const LEAST_CHARACTERS = 16
const said = (token: string) =>
  token === ''
    ? 'is not set'
    : `has ${token.length} characters, fewer than the ${LEAST_CHARACTERS} of one that cannot be guessed`

/** Set by a launcher that has said that there is no token, for its processes. */
const WARNED = 'OARFISH_TOKEN_WARNED'
export const TOKEN_WARNED = { [WARNED]: '1' } as const

/** A secret is printed nowhere, so the line names a file that holds it. */
const SET_TOKEN = `Set the same secret for every process of the job. Make it once and copy the file to every host:
(umask 077; openssl rand -hex 32 > ~/.oarfish-token)
On every host, before the command:
export OARFISH_JOB_TOKEN="$(cat ~/.oarfish-token)"`

/** Said once a job, by the process that everybody looks at. `hosts`: whether the job says where its processes are. */
export function derivedTokenWarning(hosts: boolean): string {
  const whom = hosts
    ? 'anybody on the hosts that the job names can read its weights and end it'
    : 'anybody who can reach its ports can read its weights and end it'
  const name = hosts
    ? ''
    : '\nOr name the hosts of the job, so that no other can connect: export OARFISH_JOB_HOSTS=10.0.0.4,10.0.0.5'
  return `OARFISH_JOB_TOKEN is not set: the job is told from others by its addresses and number of processes, which anybody may know: ${whom}. ${SET_TOKEN}${name}
OARFISH_REQUIRE_TOKEN=1 refuses to start without it.`
}

/** What a process has to say about its token, unless somebody has said it. */
export function tokenWarning(
  { derivedToken, isTokenWarned }: Omit<JobToken, 'token'>,
  hosts: boolean,
): string | undefined {
  return derivedToken && !isTokenWarned ? derivedTokenWarning(hosts) : undefined
}

/** OARFISH_JOB_HOSTS; undefined where nothing names them. */
export function jobHosts(env: Env): readonly string[] | undefined {
  const hosts = (env['OARFISH_JOB_HOSTS'] ?? '').split(',').map((host) => host.trim())
  const named = hosts.filter((host) => host !== '')
  return named.length > 0 ? named : undefined
}

/** OARFISH_TLS; `said`: where else its value was written. */
export function tlsSetting({ OARFISH_TLS: value }: Env, said = 'OARFISH_TLS'): TlsSetting | undefined {
  if (!value) return undefined
  if (value === 'auto') return 'auto'
  const [cert, key, ca, ...rest] = value.split(',')
  if (cert && key && ca && rest.length === 0) return { cert, key, ca }
  throw new UserError(`${said}: expected auto, or CERT.pem,KEY.pem,CA.pem, got "${value}".`, {
    code: 'CLUSTER_ENV',
    hint: `${said} is ${CLUSTER_ENV.OARFISH_TLS}.`,
  })
}
