/** @file What can be wrong with hosts and the way to them, in words. Each code has a section in docs/reference/errors.md. */
import { formatWhere, UserError } from '../../base/util/index.ts'
import type { SshHost } from './host.ts'

/** What ssh said, as an error with its fix. `said` is its stderr; empty when it said nothing in time. */
export function sshError(host: SshHost, said: string): UserError {
  const known = SAYINGS.find(({ pattern }) => pattern.test(said))
  if (!known)
    return new UserError(`${host.name}: ssh failed: ${lastLine(said) || 'it said nothing.'}`, { code: 'SSH_FAILED' })
  const { code, message, hint } = known
  return new UserError(`${host.name}: ${message}`, { code, hint: hint(host), cause: new Error(said.trim()) })
}

interface Saying {
  readonly pattern: RegExp
  readonly code: string
  readonly message: string
  readonly hint: (host: SshHost) => string
}

/** The command that a person would type. */
const typed = ({ destination, port }: SshHost, program = 'ssh', option = '-p') =>
  [program, ...(port === undefined ? [] : [`${option} ${port}`]), destination].join(' ')

/** How ssh-keygen and ssh-keyscan name the host. */
const place = ({ destination, port }: SshHost) => {
  const bare = destination.replace(/^.*@/, '')
  return port === undefined || port === 22 ? bare : `'[${bare}]:${port}'`
}

const SAYINGS: readonly Saying[] = [
  {
    pattern: /REMOTE HOST IDENTIFICATION HAS CHANGED|host key.*has changed/i,
    code: 'SSH_HOST_KEY',
    message: 'its host key has changed: it is another machine, or was installed anew.',
    hint: (host) => `If that is known and right: ssh-keygen -R ${place(host)} && ${typed(host)} true`,
  },
  {
    pattern: /No \S+ host key is known|Host key verification failed/,
    code: 'SSH_HOST_KEY',
    message: 'its host key is not known here.',
    hint: (host) => `Compare and accept it once: ${typed(host)} true`,
  },
  {
    pattern: /Permission denied|Too many authentication failures|No more authentication methods/,
    code: 'SSH_KEY',
    message: 'it refuses the key (passwords are not asked for).',
    hint: (host) => `Put your public key there: ${typed(host, 'ssh-copy-id')}`,
  },
  {
    pattern: /Could not resolve hostname/,
    code: 'SSH_UNREACHABLE',
    message: 'there is no host of this name.',
    hint: () => 'Mend the name in HOSTS, or give it an address in ~/.ssh/config or /etc/hosts.',
  },
  {
    pattern: /timed out|not responding/i,
    code: 'SSH_TIMEOUT',
    message: 'it does not answer.',
    hint: (host) => `See whether it is up and reached from here: ${typed(host)} true`,
  },
  {
    pattern: /Connection refused|No route to host|Network is unreachable|Connection (reset|closed)|Broken pipe/i,
    code: 'SSH_UNREACHABLE',
    message: 'no ssh server answers there.',
    hint: (host) => `See whether sshd runs and on which port: ${typed(host)} true`,
  },
]

const lastLine = (text: string) => text.trim().split('\n').at(-1) ?? ''

export const connectionLost = (host: SshHost, said: string) =>
  new UserError(`${host.name}: the connection was lost${lastLine(said) === '' ? '' : ` (${lastLine(said)})`}.`, {
    code: 'SSH_LOST',
    hint: 'Its processes may go on: when it is back, oarfish stop JOB ends them.',
  })

export const noSuchJob = (job: string, known: readonly string[]) =>
  new UserError(`${job}: no such job over ssh runs that was started from here by this user.`, {
    code: 'SSH_JOB',
    hint:
      known.length > 0
        ? `Those are ${known.join(', ')}.`
        : 'There is none: a job that is done or was stopped needs no end.',
  })

/** One error of what is wrong with several hosts; every host is named. */
export function together(errors: readonly UserError[]): UserError {
  const [first] = errors as [UserError]
  if (errors.length === 1) return first
  const hints = [...new Set(errors.flatMap(({ hint }) => (hint === undefined ? [] : [hint])))]
  const placed = ({ message, where }: UserError) => (where ? `${formatWhere(where)} ${message}` : message)
  return new UserError(errors.map(placed).join('\n'), {
    code: first.code,
    cause: first,
    hint: hints.length > 0 ? hints.join('\n') : undefined,
  })
}
