/** @file Runs that jobs recorded, and logs that they wrote, read by the server for its page: from the folder of the job alone, wherever links in it lead. */
import { lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import { type ReadFile, readPlain, readWithin } from '../../base/runs/index.ts'
import { openRunApi, type RunApi } from '../dashboard/index.ts'
import { jobFolder } from '../executors/index.ts'
import type { ServerOptions } from './access.ts'
import { openLogRuns } from './log-runs.ts'
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
  const logRuns = openLogRuns(store)
  const of = (job: string) => {
    logRuns.refresh(job)
    const known = open.get(job)
    if (known) return known
    const folder = realpathSync(store.folderOf(job))
    const fromLogs = logRuns.folderOf(job)
    const within = readWithin(folder)
    const read: ReadFile = (path, ...part) => (path.startsWith(`${fromLogs}${sep}`) ? readPlain : within)(path, ...part)
    const api = openRunApi({
      folders: [jobFolder(folder).work, fromLogs],
      version,
      read,
      logsWithin: jobFolder(folder).logs,
      refresh: () => logRuns.refresh(job),
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
    logRuns.close()
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
