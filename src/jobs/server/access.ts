/** @file Who may see, change and submit which job: the same rules for signed requests and for the page. */
import type { TlsKeys } from '../../base/net/index.ts'
import type { JobRequest } from '../executors/index.ts'
import { groupOf } from '../submit/index.ts'
import type { Accounts } from './accounts.ts'
import { type ExecutorTraits, type Limits, rejectionOf } from './admission.ts'
import type { Dispatcher } from './dispatch.ts'
import { HttpError } from './http-error.ts'
import { isVisible } from './listing.ts'
import type { Nonces } from './nonces.ts'
import { fsUgiSchema, jobRequestSchema } from './openapi.ts'
import type { Keys } from './sign.ts'
import type { CloudJob, Store } from './store.ts'

export interface ServerOptions {
  readonly store: Store
  readonly dispatcher: Dispatcher
  /** Throws while they cannot be read. */
  readonly accounts: () => Accounts
  readonly nonces: Nonces
  readonly executor: ExecutorTraits
  readonly limits: Limits
  readonly version: string
  /** Gives a user new keys, and returns them. */
  readonly rotate: (user: string) => Promise<Keys>
  /** Serves HTTPS. @default HTTP */
  readonly tls?: Omit<TlsKeys, 'ca'> | undefined
}

/** Why they cannot be read is in the server's log, and nobody else's concern. */
export function readable(accounts: () => Accounts): Accounts {
  try {
    return accounts()
  } catch {
    throw new HttpError(503, 'The server cannot read its accounts.', 'Tell its administrator: its log says why.')
  }
}

/** Jobs of others are as if they were not there, unless they are open to a group and the request only looks. */
export function jobFor(
  id: string,
  method: string,
  user: string,
  { store, accounts }: { store: Store; accounts: Accounts },
): CloudJob {
  const job = store.jobs.get(id)
  if (job?.user === user) return job
  if (!job || !isVisible(job, user, accounts))
    throw new HttpError(404, `There is no job ${id}.`, 'List yours with: oarfish jobs')
  if (method === 'GET' || accounts.users[user]?.admin) return job
  throw new HttpError(403, `Job ${id} is ${job.user}'s, who alone may stop or change it.`, 'Ask them.')
}

export interface Asking {
  readonly user: string
  readonly accounts: Accounts
  readonly body: unknown
}

/** `fs_ugi` of a request that submits a job. */
export function fsUgiOf(body: unknown): string | undefined {
  const parsed = fsUgiSchema.safeParse((body as { fsUgi?: unknown }).fsUgi ?? undefined)
  if (parsed.success) return parsed.data
  throw new HttpError(400, `fs_ugi: ${parsed.error.issues[0]?.message}.`, 'It is user,password.')
}

/** The job that is asked for; throws where it may not come in. */
export function admitted({ user, accounts, body }: Asking, { executor, limits }: ServerOptions): JobRequest {
  const { fsUgi: _secret, ...rest } = body as { fsUgi?: unknown; group?: unknown }
  const parsed = jobRequestSchema.safeParse({ ...rest, group: rest.group === '' ? groupOf('') : rest.group })
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new HttpError(
      400,
      `The job is not described well: ${issue?.path.join('.')}: ${issue?.message}.`,
      'See /openapi.json.',
    )
  }
  const request = parsed.data as JobRequest
  const rejection = rejectionOf(request, user, accounts, { limits, executor })
  if (rejection) throw new HttpError(rejection.status, rejection.message, rejection.hint)
  return request
}
