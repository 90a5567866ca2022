/** @file Whether a job may come in, and which of those that wait is next. The server admits and orders; it never places processes. Pure. */
import { PRIORITY_ORDER } from '../../base/config/index.ts'
import type { Executor, JobRequest } from '../executors/index.ts'
import { jobSize } from '../submit/index.ts'
import type { Accounts } from './accounts.ts'
import { type CloudJob, isActive } from './store.ts'

export interface Limits {
  readonly fileBytes: number
  readonly jobBytes: number
}

export interface ExecutorTraits
  extends Pick<Executor, 'kinds' | 'atOnce'>,
    Partial<Pick<Executor, 'resumes' | 'runsElsewhere'>> {
  readonly name: string
  /** On Kubernetes: the one namespace in which jobs may lie. */
  readonly namespace?: string | undefined
}

export interface Rejection {
  readonly status: 400 | 403 | 404 | 409 | 413
  readonly message: string
  readonly hint: string
}

/** Undefined: the job is admitted. */
export function rejectionOf(
  request: JobRequest,
  user: string,
  accounts: Accounts,
  { limits, executor }: { readonly limits: Limits; readonly executor: ExecutorTraits },
): Rejection | undefined {
  const group = accounts.groups[request.group]
  const known = accounts.users[user]?.groups ?? []
  if (!group) {
    const names = Object.keys(accounts.groups).join(', ') || 'none yet'
    return refuse(404, `There is no group ${request.group}.`, `Groups of this server: ${names}.`)
  }
  if (!known.includes(request.group))
    return refuse(
      403,
      `User ${user} is not in group ${request.group}.`,
      `Use one of: ${known.join(', ') || 'none yet'}.`,
    )
  if (!group.priorities.includes(request.priority))
    return refuse(
      403,
      `Group ${request.group} has no priority ${request.priority}.`,
      `Use one of: ${group.priorities.join(', ')}.`,
    )
  const size = jobSize(request)
  if (size > group.quota)
    return refuse(
      403,
      `The job needs ${size} nodes, group ${request.group} has ${group.quota} in all.`,
      'Ask for fewer, or have the quota raised.',
    )
  if (!executor.kinds.some((end) => request.kind.endsWith(end)))
    return refuse(
      400,
      `This server runs jobs by ${executor.name}, not ${request.kind}.`,
      'Set cluster_type to what the server has, or name another server.',
    )
  return podRejection(request, executor) ?? fileRejection(request, limits)
}

/** The server submits with rights of its own, which a job must not borrow. */
function podRejection({ pods }: JobRequest, { namespace }: ExecutorTraits): Rejection | undefined {
  if (pods?.serviceAccount !== undefined)
    return refuse(
      403,
      `Jobs of this server cannot choose the account ${pods.serviceAccount}.`,
      'Leave k8s_service_account out: each job gets an account of its own.',
    )
  if (namespace === undefined || pods?.namespace === undefined || pods.namespace === namespace) return undefined
  return refuse(
    403,
    `Jobs of this server lie in namespace ${namespace}, not in ${pods.namespace}.`,
    'Leave k8s_namespace out.',
  )
}

function fileRejection({ files }: JobRequest, { fileBytes, jobBytes }: Limits): Rejection | undefined {
  const badName = files.find(({ name }) => !/^[^/\\\0]{1,255}$/.test(name) || name === '.' || name === '..')
  if (badName)
    return refuse(
      400,
      `${JSON.stringify(badName.name)} is no name of a file.`,
      'The folder of a job is flat: send files by their own names.',
    )
  const large = files.find(({ bytes }) => bytes > fileBytes)
  const instead = "Put data on the job's file system and name it by train_data_path or afs_remote_mount_point."
  if (large) return refuse(413, `${large.name} has ${large.bytes} bytes; a file may have ${fileBytes}.`, instead)
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  return total > jobBytes
    ? refuse(413, `The files have ${total} bytes; a job may have ${jobBytes}.`, instead)
    : undefined
}

const refuse = (status: Rejection['status'], message: string, hint: string): Rejection => ({ status, message, hint })

/** The jobs that may start now: by priority, then in the order of their coming, within the quota of each group. */
export function startable(
  jobs: Iterable<CloudJob>,
  accounts: Accounts,
  { atOnce }: ExecutorTraits,
): readonly CloudJob[] {
  const all = [...jobs]
  const active = all.filter(({ phase }) => isActive(phase))
  const held = new Map<string, number>()
  const take = ({ request }: CloudJob) => held.set(request.group, (held.get(request.group) ?? 0) + jobSize(request))
  active.forEach(take)
  const blocked = new Set<string>()
  return waitingOf(all)
    .filter((job) => {
      const { group } = job.request
      const fits = (held.get(group) ?? 0) + jobSize(job.request) <= (accounts.groups[group]?.quota ?? 0)
      // A large job at the head of its group is not overtaken for ever by small ones.
      if (!fits) blocked.add(group)
      if (!fits || blocked.has(group)) return false
      take(job)
      return true
    })
    .slice(0, Math.max(0, atOnce - active.length))
}

/** Those that wait, in the order in which they are looked at. */
export const waitingOf = (jobs: Iterable<CloudJob>): readonly CloudJob[] =>
  [...jobs]
    .filter(({ phase }) => phase === 'queued')
    .sort((a, b) => rank(a) - rank(b) || a.submittedAt - b.submittedAt || (a.id < b.id ? -1 : 1))

/** Nodes that jobs of a group hold now. */
export const heldBy = (group: string, jobs: Iterable<CloudJob>): number =>
  [...jobs]
    .filter(({ phase, request }) => isActive(phase) && request.group === group)
    .reduce((sum, { request }) => sum + jobSize(request), 0)

const rank = ({ request }: CloudJob) => PRIORITY_ORDER.indexOf(request.priority)
