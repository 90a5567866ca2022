/** @file What the page of a job server may ask, one row an address. Jobs that a user may not see are as if they were not there. */
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { logQuery, readLogFile } from '../dashboard/index.ts'
import { jobFolder, readStatus } from '../executors/index.ts'
import { jobSize } from '../submit/index.ts'
import { admitted, jobFor } from './access.ts'
import { heldBy, waitingOf } from './admission.ts'
import { HttpError } from './http-error.ts'
import { DOWNLOAD_HEADERS, type PageCall } from './job-page-call.ts'
import { logsOf } from './job-runs.ts'
import { isVisible } from './listing.ts'
import { isThere, openOfJob } from './open-of-job.ts'
import type { GroupRow, JobDetail, JobRow, Me } from './page-api.ts'
import type { CloudJob } from './store.ts'
import { submitAgain } from './submit-again.ts'

export interface PageRoute {
  readonly method: 'GET' | 'POST'
  readonly matches: (path: readonly string[]) => boolean
  /** Undefined: it has answered by itself. */
  readonly handle: (call: PageCall) => unknown
}

/** `jobs/:id/stop`: `:` stands for one part, `*` for all that follow. */
function row(method: PageRoute['method'], pattern: string, handle: PageRoute['handle']): PageRoute {
  const parts = pattern.split('/')
  const isOpen = parts.at(-1) === '*'
  const fixed = isOpen ? parts.slice(0, -1) : parts
  const matches = (path: readonly string[]) =>
    (isOpen ? path.length >= fixed.length : path.length === fixed.length) &&
    fixed.every((part, i) => part === ':' || part === path[i])
  return { method, matches, handle }
}

export const PAGE_ROUTES: readonly PageRoute[] = [
  row('GET', 'me', me),
  row('POST', 'sign-out', signOut),
  row('POST', 'keys', newKeys),
  row('GET', 'jobs', (call) => ({
    jobs: visibleJobs(call)
      .map((job) => rowOf(job, call))
      .reverse(),
  })),
  row('GET', 'jobs/:', detail),
  row('POST', 'jobs/:/stop', stop),
  row('POST', 'jobs/:/again', again),
  row('GET', 'jobs/:/logs/:', log),
  row('GET', 'jobs/:/files/:', file),
  row('GET', 'jobs/:/api/*', runs),
  row('GET', 'live/*', live),
]

const storeOf = ({ state }: PageCall) => state.options.store

/** Of the address; throws where this user may not see it, or may not change it. */
const asked = (call: PageCall): CloudJob =>
  jobFor(call.path[1]!, call.request.method!, call.user, { store: storeOf(call), accounts: call.accounts })

const visibleJobs = (call: PageCall) =>
  [...storeOf(call).jobs.values()].filter((job) => isVisible(job, call.user, call.accounts))

function me(call: PageCall): Me {
  const { user, accounts, state } = call
  const { ak, admin = false, uid, groups } = accounts.users[user]!
  const names = admin ? Object.keys(accounts.groups) : groups
  const { executor, version } = state.options
  return {
    name: user,
    ak,
    admin,
    uid,
    executor: executor.name,
    version,
    groups: names.flatMap((name) => groupRow(name, call)),
  }
}

function groupRow(name: string, call: PageCall): GroupRow[] {
  const group = call.accounts.groups[name]
  if (!group) return []
  const jobs = [...storeOf(call).jobs.values()]
  const waiting = waitingOf(jobs)
  const own = waiting.filter(({ request }) => request.group === name)
  const queue = own
    .filter((job) => isVisible(job, call.user, call.accounts))
    .map((job) => ({ jobId: job.id, name: job.request.name, place: waiting.indexOf(job) + 1 }))
  return [
    { name, quota: group.quota, held: heldBy(name, jobs), priorities: group.priorities, queue, waiting: own.length },
  ]
}

function signOut({ session, state, response }: PageCall) {
  state.sessions.end(session.id)
  state.setCookie(response, '')
  return {}
}

/** Shown this once; every session of the old keys ends but this one, which goes on with the new ones. */
async function newKeys({ session, state, response, user }: PageCall) {
  const keys = await state.options.rotate(user)
  state.sessions.end(session.id)
  state.setCookie(response, state.sessions.open(user, keys.ak).id)
  return keys
}

function rowOf({ id, user: owner, request, phase, reason, submittedAt, changedAt }: CloudJob, call: PageCall): JobRow {
  const { name, group, priority, kind, remark, version } = request
  const waiting = phase === 'queued' ? waitingOf(storeOf(call).jobs.values()).findIndex((one) => one.id === id) : -1
  const isOwn = owner === call.user
  return {
    jobId: id,
    user: owner,
    ...{ name, group, priority, kind, remark, version, phase, reason, submittedAt, changedAt, isOwn },
    nodes: jobSize(request),
    place: waiting < 0 ? undefined : waiting + 1,
    mayStop: isOwn || call.accounts.users[call.user]?.admin === true,
  }
}

function detail(call: PageCall): JobDetail {
  const job = asked(call)
  const folder = storeOf(call).folderOf(job.id)
  const { roles, permission = 'private', wallSeconds, command, env, data } = job.request
  const status = statusOf(folder)
  return {
    row: rowOf(job, call),
    roles: roles.map(({ name, replicas }) => ({ name, replicas })),
    permission,
    wallSeconds,
    command,
    env,
    data: data as JobDetail['data'],
    files: job.request.files.map(({ name, bytes }) => ({
      name,
      bytes,
      isThere: isThere(folder, join(jobFolder(folder).files, name)),
    })),
    logs: logsOf(folder),
    processes: status?.processes ?? [],
    restarts: status?.restarts ?? [],
    runs: call.state.runs
      .of(job.id)
      .answers.index.list()
      .runs.map(({ id, name, state }) => ({ id, name, state })),
    needsUgi: job.hadUgi === true,
  }
}

/** A damaged one tells nothing. */
function statusOf(folder: string) {
  try {
    return readStatus(folder)
  } catch {
    return undefined
  }
}

async function stop(call: PageCall) {
  const { id } = asked(call)
  await call.state.options.dispatcher.stop(id)
  return rowOf(storeOf(call).jobs.get(id)!, call)
}

async function again(call: PageCall) {
  const job = asked(call)
  // An administrator may stop it, and must not run it: it would be theirs then, with their rights.
  if (job.user !== call.user) throw new HttpError(403, `Job ${job.id} is ${job.user}'s.`, 'They may submit it again.')
  const { user, accounts, body, state } = call
  const request = admitted({ user, accounts, body: job.request }, state.options)
  const id = await submitAgain(job, request, body, state.options)
  return { jobId: id }
}

function log(call: PageCall) {
  const { id } = asked(call)
  const folder = storeOf(call).folderOf(id)
  const name = `${call.path[3]}.log`
  const found = logsOf(folder).some((one) => `${one.name}.log` === name)
    ? openOfJob(folder, join(jobFolder(folder).logs, name))
    : undefined
  if (!found) throw new HttpError(404, 'There is no such log.', 'It may not have begun.')
  return readLogFile(found.fd, name, logQuery(call.query))
}

function file(call: PageCall): undefined {
  const { id, request } = asked(call)
  const [folder, name] = [storeOf(call).folderOf(id), call.path[3]!]
  const isAnnounced = request.files.some((one) => one.name === name)
  const found = isAnnounced ? openOfJob(folder, join(jobFolder(folder).files, name)) : undefined
  if (!found) throw new HttpError(404, 'There is no such file.', 'The job lists its files.')
  call.response.writeHead(200, { ...DOWNLOAD_HEADERS, 'content-length': found.bytes })
  createReadStream('', { fd: found.fd, end: Math.max(0, found.bytes - 1) }).pipe(call.response)
}

function runs(call: PageCall): undefined {
  const { id } = asked(call)
  call.state.runs.of(id).respond(call.request, call.response, call.path.slice(3), call.query)
}

function live(call: PageCall): undefined {
  const [, job = ''] = call.path
  if (job !== '') asked(call)
  call.state.live.add(job, call.response)
}
