/** @file Jobs that were started from this machine without a server: their folders answer what a job server would. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageFile, UserError } from '../base/util/index.ts'
import type { ExecutorName } from '../jobs/executors/index.ts'
import type { CloudClient, JobSummary } from '../jobs/server/index.ts'
import type { CliIo } from './io.ts'
import { environment } from './user-places.ts'

/** The folder that has one for each. */
export const localJobs = (env: CliIo['env']) =>
  join(env['XDG_DATA_HOME'] ?? join(homedir(), '.local/share'), 'oarfish', 'jobs')

export const isLocalJob = (id: string, { env }: CliIo) => /^job-\w+$/.test(id) && existsSync(join(localJobs(env), id))

/** What a job server answers about jobs, whoever answers here. */
export type JobClient = Pick<CloudClient, 'list' | 'info' | 'stop' | 'logs'>

export async function localClient({ env }: CliIo): Promise<JobClient> {
  const { followOutcome, jobFolder, readOutcome, submittedBy, supervisorOf } = await import(
    '../jobs/executors/index.ts'
  )
  const { readLogs } = await import('../jobs/agent/index.ts')
  const folderOf = (id: string) => join(localJobs(env), id)
  const info = async (id: string) => await summaryOf(id, folderOf(id))
  /** A job that was handed over goes on while nobody follows it; whoever asks for it begins again. */
  const followed = async (id: string) => {
    const folder = folderOf(id)
    const executor = readOutcome(folder) ? undefined : submittedBy(folder)
    if (executor === undefined || supervisorOf(folder)?.alive) return
    await startFollower(executor, folder, { ...environment(env), OARFISH_JOB_ID: id })
  }
  return {
    list: async (limit = 100) => {
      const ids = existsSync(localJobs(env)) ? readdirSync(localJobs(env)) : []
      const jobs = await Promise.all(ids.filter((id) => existsSync(join(folderOf(id), 'job.json'))).map(info))
      const sorted = jobs.sort((a, b) => b.submittedAt - a.submittedAt)
      return { total: jobs.length, jobs: sorted.slice(0, limit) }
    },
    info: async (id) => {
      await followed(id)
      return await info(id)
    },
    stop: async (id) => {
      await followed(id)
      const supervisor = supervisorOf(folderOf(id))
      const before = await info(id)
      if (supervisor?.alive) process.kill(supervisor.pid, 'SIGTERM')
      return before
    },
    logs: async function* (id, { role, rank, follow }) {
      await followed(id)
      const over = () => !follow || readOutcome(folderOf(id)) !== undefined
      if (follow && role === undefined && rank === undefined) yield* followOutcome(folderOf(id))
      else yield* readLogs(jobFolder(folderOf(id)).logs, { role, rank }, over)
    },
  }
}

async function summaryOf(id: string, folder: string): Promise<JobSummary> {
  const { readOutcome, readRequest, readStatus, supervisorOf } = await import('../jobs/executors/index.ts')
  const { name, group, priority, kind, permission, wallSeconds, version, remark } = readRequest(folder)
  const submittedAt = changeOf(join(folder, 'job.json'))
  const outcome = readOutcome(folder)
  const running = supervisorOf(folder)?.alive ? 'running' : 'failed'
  const status = outcome ?? readStatus(folder) ?? { phase: running }
  const changedAt = outcome ? changeOf(join(folder, 'outcome.json')) : submittedAt
  const described = { name, group, priority, kind, permission, wallSeconds, version, remark }
  const restarts = readStatus(folder)?.restarts
  return { jobId: id, ...described, submittedAt, changedAt, restarts, ...status } as JobSummary
}

const changeOf = (file: string) => statSync(file).mtimeMs

const START_MS = 20_000
const LOOK_MS = 50

/** Starts the process that follows a job, and waits until it does. */
export async function startFollower(executor: ExecutorName, folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const { superviseWords } = await import('../jobs/agent/index.ts')
  const { readOutcome, supervisorOf } = await import('../jobs/executors/index.ts')
  const oarfish = packageFile('bin/oarfish.js')
  const words = [oarfish, ...superviseWords({ executor }), folder]
  spawn(process.execPath, words, { detached: true, stdio: 'ignore', env }).unref()
  for (const until = Date.now() + START_MS; Date.now() < until; await sleep(LOOK_MS))
    if (supervisorOf(folder)?.alive || readOutcome(folder)) return
  throw new UserError('The job was submitted, and the process that follows it did not start.', {
    code: 'KUBE_FOLLOW',
    hint: 'The job runs. oarfish logs starts to follow it again.',
  })
}
