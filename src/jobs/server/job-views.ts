/** @file Jobs and users as they are told to who may see them. Pure, but for what a supervisor last wrote. */
import { readStatus } from '../executors/index.ts'
import { isOver } from '../submit/index.ts'
import type { Accounts } from './accounts.ts'
import type { CloudJob, Store } from './store.ts'

/** With what its supervisor sees, where it can see more than that the job runs. */
export function detailed(job: CloudJob, store: Store) {
  const status = readStatus(store.folderOf(job.id))
  return { ...summary(job), ...(isOver(job.phase) ? { restarts: status?.restarts } : status) }
}

export function summary({ id, user, request, phase, reason, submittedAt, changedAt }: CloudJob) {
  const { name, group, priority, kind, roles, permission, wallSeconds, version, remark } = request
  const described = { name, group, priority, kind, roles, permission, wallSeconds, version, remark }
  return { jobId: id, user, ...described, phase, reason, submittedAt, changedAt }
}

/** Without the secret key, which nobody is shown twice. */
export function describeUser(name: string, { users, groups }: Accounts) {
  const { ak, groups: own, uid, admin = false } = users[name]!
  return { name, ak, admin, uid, groups: own.map((group) => ({ name: group, ...groups[group] })) }
}
