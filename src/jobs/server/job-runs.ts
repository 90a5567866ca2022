/** @file Runs that jobs recorded, and logs that they wrote, read by the server for its page: from the folder of the job alone, wherever links in it lead. */
import { closeSync, fstatSync, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { openWithin, readWithin } from '../../base/runs/index.ts'
import { openRunApi, type RunApi } from '../dashboard/index.ts'
import { jobFolder } from '../executors/index.ts'
import type { ServerOptions } from './access.ts'
import type { JobLog } from './page-api.ts'

export interface JobRuns {
  readonly of: (job: string) => RunApi
  /** Changes with what is to be seen of a job, or with the list of jobs where the topic is empty. */
  readonly stamp: (topic: string) => string
  readonly close: () => void
}

const MOST_OPEN = 100

export function openJobRuns({ store, version }: Pick<ServerOptions, 'store' | 'version'>): JobRuns {
  const open = new Map<string, RunApi>()
  const of = (job: string) => {
    const known = open.get(job)
    if (known) return known
    const folder = realpathSync(store.folderOf(job))
    const api = openRunApi({
      folders: [jobFolder(folder).work],
      version,
      read: readWithin(folder),
      logsWithin: jobFolder(folder).logs,
    })
    open.set(job, api)
    if (open.size > MOST_OPEN) {
      const [oldest] = open.keys()
      open.get(oldest!)!.close()
      open.delete(oldest!)
    }
    return api
  }
  const stamp = (topic: string) => {
    if (topic === '')
      return `${store.jobs.size} ${Math.max(0, ...[...store.jobs.values()].map((job) => job.changedAt))}`
    const folder = store.folderOf(topic)
    const parts = logsOf(folder).map(({ name, bytes }) => `${name} ${bytes}`)
    const status = lstatSync(join(folder, 'status.json'), { throwIfNoEntry: false })?.mtimeMs
    return [store.jobs.get(topic)?.changedAt, status, ...parts].join('\n')
  }
  const close = () => {
    for (const api of open.values()) api.close()
  }
  return { of, stamp, close }
}

/** Logs of a job: of each role and rank, of its hooks, and the job's own. */
export function logsOf(folder: string): readonly JobLog[] {
  const { logs } = jobFolder(folder)
  return namesIn(logs).flatMap((file) => {
    const stats = lstatSync(join(logs, file), { throwIfNoEntry: false })
    if (!stats?.isFile()) return []
    return [{ name: file.slice(0, -'.log'.length), bytes: stats.size, updatedAt: stats.mtimeMs }]
  })
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^[\w.-]+\.log$/.test(name) && !name.startsWith('.'))
      .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  } catch {
    return []
  }
}

/** Opened for reading; undefined where it is not there, or leads out of the job's folder. */
export function openOfJob(folder: string, path: string): { readonly fd: number; readonly bytes: number } | undefined {
  try {
    const fd = openWithin(realpathSync(folder), path)
    return { fd, bytes: fstatSync(fd).size }
  } catch {
    return undefined
  }
}

/** Whether it is there and the job's own. */
export function isThere(folder: string, path: string): boolean {
  const found = openOfJob(folder, path)
  if (found) closeSync(found.fd)
  return found !== undefined
}
