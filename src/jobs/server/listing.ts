/** @file Which jobs a user sees, and which of them were asked for. Pure. */
import type { JobRequest } from '../executors/index.ts'
import { groupOf } from '../submit/index.ts'
import type { Accounts } from './accounts.ts'
import type { CloudJob } from './store.ts'

/** What `oarfish jobs` asks for; what is not said is not asked. */
export interface JobFilter {
  /** Phases, of which a job has one. */
  readonly state?: readonly string[] | undefined
  readonly group?: string | undefined
  readonly user?: string | undefined
  /** Submitted then or later, in milliseconds. */
  readonly since?: number | undefined
  /** Those of others that this user may see, too; a group or another user asks for them as well. */
  readonly all?: boolean | undefined
}

interface Listed extends Pick<CloudJob, 'phase' | 'submittedAt'>, Pick<JobRequest, 'group'> {
  readonly user?: string | undefined
}

export const isWanted = ({ phase, group, user, submittedAt }: Listed, filter: JobFilter) =>
  (filter.state === undefined || filter.state.includes(phase)) &&
  (filter.group === undefined || groupOf(filter.group) === group) &&
  (filter.user === undefined || filter.user === user) &&
  (filter.since === undefined || submittedAt >= filter.since)

/** Whose job it is, an administrator, and those of its group where the job is open to them. */
export function isVisible({ user: owner, request }: CloudJob, user: string, { users }: Accounts): boolean {
  const { admin = false, groups = [] } = users[user] ?? {}
  return owner === user || admin || (request.permission === 'group' && groups.includes(request.group))
}

export const filterQuery = ({
  state,
  group,
  user,
  since,
  all,
}: JobFilter): Readonly<Record<string, string | undefined>> => ({
  state: state?.join(','),
  group,
  user,
  since: since?.toString(),
  all: all ? '1' : undefined,
})

export function readFilter(query: URLSearchParams): JobFilter {
  const text = (name: string) => query.get(name) ?? undefined
  const since = text('since')
  return {
    state: text('state')?.split(','),
    group: text('group'),
    user: text('user'),
    since: since === undefined ? undefined : Number(since),
    all: query.get('all') === '1',
  }
}

/** Jobs of others are shown to who asks for them by `all`, a group or a user. */
export const asksForOthers = ({ all, group, user }: JobFilter) =>
  all === true || group !== undefined || user !== undefined
