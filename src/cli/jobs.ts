/** @file `oarfish jobs | status | logs | stop`: jobs that were submitted, by their ids. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import type { JobFilter, JobList, JobSummary } from '../jobs/server/index.ts'
import { type ClientOptions, clientFor } from './cloud-client.ts'
import { clusterClient, clusterJobs, isClusterJob } from './cluster-jobs.ts'
import { Interrupted, untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { type FilterFlags, filterOf, PHASES } from './job-filter.ts'
import { isLocalJob, type JobClient, localClient } from './local-jobs.ts'
import { wholeNumber } from './options.ts'
import { jobRecords, sshOptions } from './ssh-options.ts'

interface JobsFlags extends ClientOptions, FilterFlags {
  readonly limit: number
  readonly json?: boolean
  readonly watch?: boolean
}

export function jobsCommand(io: CliIo): Command {
  return withClient(new Command('jobs'))
    .description('List the jobs you submitted, newest first.')
    .option('-n, --limit <n>', 'how many', wholeNumber, 20)
    .option('--state <list>', `only these, separated by commas: ${PHASES.join(', ')}`)
    .option('--group <name>', 'only those of this group, of other users too where they are open to the group')
    .option('--user <name>', 'only those of this user of the job server')
    .option('--since <time>', 'submitted since: 2026-11-17, 2026-11-17T08:00, or 30m, 12h, 7d ago')
    .option('--all', 'of all users, as far as you may see them; administrators see all')
    .option('--watch', 'print the list again whenever it has changed, until Ctrl+C')
    .option('--json', 'print JSON')
    .action(async ({ limit, json = false, watch = false, ...flags }: JobsFlags) => {
      const filter = filterOf(flags)
      const look = async () => listText(await allJobs(limit, filter, flags, io), json)
      if (watch) return await watchList(look, io)
      io.out.write(await look())
    })
}

const WATCH_MS = 2000

/** Each time as a whole, so that it reads the same on a terminal and in a file. */
async function watchList(look: () => Promise<string>, io: CliIo): Promise<void> {
  const hooks = { onStopping: () => undefined, onLeaving: () => undefined }
  await untilInterrupted(io, hooks, async (signal) => {
    for (let shown = ''; !signal.aborted; ) {
      const text = await look()
      if (text !== shown) io.out.write(`${shown === '' ? '' : '\n'}${text}`)
      shown = text
      await sleep(WATCH_MS, undefined, { signal }).catch(() => undefined)
    }
  }).catch((error: unknown) => {
    // Ctrl+C is how it ends.
    if (!(error instanceof Interrupted)) throw error
  })
}

function listText({ total, jobs }: JobList, json: boolean): string {
  if (json) return `${JSON.stringify({ total, jobs })}\n`
  return total === 0 ? 'No jobs yet.\n' : `${table(jobs)}${more(total, jobs.length)}`
}

/** Those of the job server, where one is known, and those that were started from here. */
async function allJobs(limit: number, filter: JobFilter, options: ClientOptions, io: CliIo): Promise<JobList> {
  const here = await ownJobs(limit, filter, io)
  const isMine = here.total > 0 && options.server === undefined && options.profile === undefined
  const client = await clientFor(options, io).catch((error: unknown) => {
    if (isMine) return undefined
    throw error
  })
  const there = await client?.list(limit, filter).catch((error: unknown) => {
    if (!isMine) throw error
    io.err.write(`Only jobs that were started from here: ${(error as Error).message}\n`)
    return NONE
  })
  const { total, jobs: served } = there ?? NONE
  const jobs = [...here.jobs, ...served].sort((a, b) => b.submittedAt - a.submittedAt)
  return { total: here.total + total, jobs: jobs.slice(0, limit) }
}

const NONE: JobList = { total: 0, jobs: [] }

/** Those of this machine: without a server, and over ssh by `oarfish cluster` or `fleetrun --hosts`. */
async function ownJobs(limit: number, filter: JobFilter, io: CliIo): Promise<JobList> {
  const { isWanted } = await import('../jobs/server/index.ts')
  const { jobs } = await (await localClient(io)).list(Number.POSITIVE_INFINITY)
  const found = [...jobs, ...(await clusterJobs(io))].filter((job) => isWanted(job, filter))
  const sorted = found.sort((a, b) => b.submittedAt - a.submittedAt)
  return { total: found.length, jobs: sorted.slice(0, limit) }
}

/** Of the job server, or of this machine where the job was started from here without one. */
async function clientOf(options: ClientOptions, io: CliIo, id: string): Promise<JobClient> {
  if (!isClusterJob(id) && !isLocalJob(id, io)) return await clientFor(options, io, id)
  refuseServer(id, options)
  return isClusterJob(id) ? clusterClient(io) : await localClient(io)
}

/** What a job server would be asked with is nothing for a job that none knows. */
function refuseServer(id: string, { profile, server }: ClientOptions): void {
  const idle = Object.entries({ profile, server }).flatMap(([name, value]) => (value === undefined ? [] : `--${name}`))
  if (idle.length === 0) return
  throw new UserError(`${idle.join(', ')}: ${id} was started from here, and no job server knows it.`, {
    code: 'CLI_OPTION',
    hint: 'Leave it out.',
  })
}

export function statusCommand(io: CliIo): Command {
  return withClient(new Command('status'))
    .description('Show one job: its phase, and why where that is not plain.')
    .argument('<job>', 'id of the job')
    .option('--json', 'print JSON')
    .action(async (id: string, { json, ...options }: ClientOptions & { json?: boolean }) => {
      const job = await (await clientOf(options, io, id)).info(id)
      io.out.write(
        json
          ? `${JSON.stringify(job)}\n`
          : `${table([job])}${said(job)}${processLines(job)}${job.reason ? `${job.reason}\n` : ''}`,
      )
    })
}

export function logsCommand(io: CliIo): Command {
  return withClient(new Command('logs'))
    .description('Print the logs of a job.')
    .argument('<job>', 'id of the job')
    .option('-f, --follow', 'until the job is over')
    .option('--role <name>', 'trainer or pserver')
    .option('--rank <n>', 'of that role', wholeNumber)
    .action(async (id: string, { follow, role, rank, ...options }) => {
      const client = await clientOf(options, io, id)
      let isEmpty = true
      for await (const text of client.logs(id, { follow, role, rank })) {
        isEmpty = false
        io.out.write(text)
      }
      const which = [role, rank].filter((part) => part !== undefined).join(' ')
      if (isEmpty && which !== '')
        io.err.write(`There is no log of ${which}; oarfish logs ${id} prints those there are.\n`)
    })
}

export function stopCommand(io: CliIo): Command {
  return withClient(new Command('stop'))
    .description('Stop a job.')
    .argument('<job>', 'id of the job')
    .action(async (id: string, options: ClientOptions) => {
      if (isClusterJob(id)) refuseServer(id, options)
      if (await stopOverSsh(id, io)) return
      const { phase } = await (await clientOf(options, io, id)).stop(id)
      io.out.write(`${id} ${ACTIVE.includes(phase) ? 'is being stopped' : `is ${phase}`}\n`)
    })
}

/** False where no such job was started from here over ssh. */
async function stopOverSsh(job: string, io: CliIo): Promise<boolean> {
  const { readRecord, stopJob } = await import('../jobs/ssh/index.ts')
  const records = jobRecords(io)
  const record = readRecord(records, job)
  if (!record) return false
  const emit = () => undefined
  const say = (line: string) => void io.out.write(`${line}\n`)
  await stopJob({ ...(await sshOptions(io)), job, record, records, emit, say, stopMs: STOP_MS })
  return true
}

const STOP_MS = 30_000

const withClient = (command: Command) =>
  command
    .option('--profile <name>', 'credentials of ~/.config/oarfish/credentials; default: those of the submission')
    .option('--server <url>', 'address of the job server; default: that of the submission')

const ACTIVE: readonly string[] = ['starting', 'running', 'queued']

/** What its submitter said of it, and when it was started again. */
function said({ user, permission, wallSeconds, version, remark, restarts = [] }: JobSummary): string {
  const known = { user, permission, version, remark, 'wall time': wallSeconds && clockOf(wallSeconds) }
  const words = Object.entries(known).flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]))
  const again = restarts.map(({ at, reason = 'no reason is known' }) => `  started again ${timeText(at)}: ${reason}\n`)
  return `${words.length === 0 ? '' : `  ${words.join(', ')}\n`}${again.join('')}`
}

const clockOf = (seconds: number) =>
  [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')

const timeText = (at: number) => new Date(at).toISOString().slice(0, 19).replace('T', ' ')

const processLines = ({ processes = [] }: JobSummary) =>
  processes
    .map(({ role, rank, host, phase, exitCode }) => {
      const code = exitCode === undefined ? '' : ` (exit code ${exitCode})`
      return `  ${role} ${rank}: ${phase}${code}${host === undefined ? '' : ` on ${host}`}\n`
    })
    .join('')

function table(jobs: readonly JobSummary[]): string {
  const rows = jobs.map(({ jobId, name, group, kind, phase, submittedAt }) => [
    ...[jobId, name, group, kind, phase],
    timeText(submittedAt),
  ])
  const all = [['job', 'name', 'group', 'kind', 'phase', 'submitted (UTC)'], ...rows]
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  const lineOf = (row: readonly string[]) => row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')
  return all.map((row) => `${lineOf(row).trimEnd()}\n`).join('')
}

const more = (total: number, shown: number) =>
  total > shown ? `${total - shown} older ones: oarfish jobs -n ${total}\n` : ''
