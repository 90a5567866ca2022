/** @file Who is let in, and who is next. */
import { expect, test } from 'vitest'
import type { JobRequest } from '../executors/job-folder.ts'
import type { Accounts } from './accounts.ts'
import { rejectionOf, startable } from './admission.ts'
import type { CloudJob } from './store.ts'

const ACCOUNTS: Accounts = {
  groups: {
    ctr: { quota: 4, priorities: ['normal', 'high', 'very_high'] },
    small: { quota: 2, priorities: ['normal'] },
  },
  users: { me: { id: '1', ak: 'a', sk: 's', groups: ['ctr', 'small'] } },
}
const LIMITS = { fileBytes: 100, jobBytes: 150 }
const EXECUTOR = { name: 'local', kinds: ['_MPI'], atOnce: 10 }

test.each([
  [{}, undefined],
  [{ group: 'other' }, /no group other/],
  [{ group: 'small' }, /no priority high/],
  [{ roles: nodes(5) }, /needs 5 nodes, group ctr has 4/],
  [{ kind: 'PS_CPU_K8S' as const, roles: nodes(1) }, /runs jobs by local, not PS_CPU_K8S/],
  [{ files: [file('a', 101)] }, /a has 101 bytes; a file may have 100/],
  [{ files: [file('a', 90), file('b', 90)] }, /files have 180 bytes; a job may have 150/],
  [{ files: [file('../a', 1)] }, /is no name of a file/],
])('a job with %o: %s', (keys, message) => {
  const rejection = rejectionOf(request(keys), 'me', ACCOUNTS, { limits: LIMITS, executor: EXECUTOR })
  if (message) expect(rejection?.message).toMatch(message)
  else expect(rejection).toBeUndefined()
})

test('somebody else is not in the group', () => {
  expect(rejectionOf(request({}), 'you', ACCOUNTS, { limits: LIMITS, executor: EXECUTOR })?.status).toBe(403)
})

test('higher priorities come first, then those that came first', () => {
  const jobs = [
    job('a', 1, { priority: 'normal' }),
    job('b', 2, {}),
    job('c', 3, { priority: 'very_high' }),
    job('d', 4, {}),
  ]
  expect(ids(startable(jobs, ACCOUNTS, EXECUTOR))).toEqual(['c', 'b', 'd', 'a'])
  expect(ids(startable(jobs, ACCOUNTS, { ...EXECUTOR, atOnce: 1 }))).toEqual(['c'])
})

test('within the quota of its group, and a large job is not overtaken by small ones', () => {
  const running = { ...job('r', 0, { roles: nodes(2) }), phase: 'running' as const }
  const large = job('large', 1, { roles: nodes(3) })
  const small = job('small', 2, { roles: nodes(1) })
  const other = job('other', 3, { group: 'small', priority: 'normal' })
  expect(ids(startable([running, large, small, other], ACCOUNTS, EXECUTOR))).toEqual(['other'])
  expect(ids(startable([large, small, other], ACCOUNTS, EXECUTOR))).toEqual(['large', 'small', 'other'])
})

const ids = (jobs: readonly CloudJob[]) => jobs.map(({ id }) => id)

function nodes(replicas: number) {
  return [
    { name: 'pserver', replicas, resources: {} },
    { name: 'trainer', replicas, resources: {} },
  ] as const
}

function file(name: string, bytes: number) {
  return { name, bytes, sha256: '' }
}

function request(keys: Partial<JobRequest>): JobRequest {
  const common = {
    name: 'j',
    group: 'ctr',
    priority: 'high',
    kind: 'PS_CPU_MPI',
    command: 'true',
    env: {},
    files: [],
    data: {},
  } as const
  return { ...common, roles: nodes(1), ...keys }
}

function job(id: string, submittedAt: number, keys: Partial<JobRequest>): CloudJob {
  return { id, user: 'me', request: request(keys), submittedAt, changedAt: submittedAt, phase: 'queued' }
}
