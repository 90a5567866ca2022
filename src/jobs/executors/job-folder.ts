/** @file The folder of a job, through which its supervisor and everybody else speak: what is to run, that it was started, its logs, how it ended. */
import { appendFileSync, existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processStart } from '../../base/util/index.ts'
import { FAILURE, readLogs, untagged } from '../agent/index.ts'
import { bytesOfContent, type DescribedJob, type Job, type JobStatus } from '../submit/index.ts'

/** A file that a job is to have, as its submitter announced it. */
export interface AnnouncedFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

/** A job without the content of its files: they are uploaded one by one. */
export type JobRequest = DescribedJob & { readonly files: readonly AnnouncedFile[] }

/** How a job ended, as its supervisor saw it. */
export interface Outcome {
  readonly phase: 'succeeded' | 'failed' | 'stopped'
  readonly reason?: string | undefined
}

export const jobFolder = (folder: string) => ({
  files: join(folder, 'files'),
  logs: join(folder, 'logs'),
  work: join(folder, 'work'),
  hosts: join(folder, 'hosts'),
})

export const writeRequest = (folder: string, request: JobRequest) => writeWhole(join(folder, 'job.json'), request)
export const readRequest = (folder: string) => JSON.parse(readFileSync(join(folder, 'job.json'), 'utf8')) as JobRequest

/** The job as its supervisor, or rank 0, sees it. */
export function jobOfFolder(folder: string): Job {
  const request = readRequest(folder)
  const { files } = jobFolder(folder)
  return {
    ...request,
    files: request.files.map(({ name }) => ({ name, content: { path: join(files, name) } })),
    secrets: { profile: '', env: [] },
  }
}

/** The same with the contents of its files, for hosts that do not see the folder. */
export const jobWithContents = (job: Job): Job => ({
  ...job,
  files: job.files.map(({ name, content }) => ({
    name,
    content: content.path === undefined ? content : { base64: bytesOfContent(content).toString('base64') },
  })),
})

/** True once in the life of a job: whoever gets it runs the job, nobody else ever will. */
export function claim(folder: string): boolean {
  // Written aside first: whoever sees the claim sees whose it is.
  const aside = join(folder, `started.${process.pid}`)
  writeFileSync(aside, `${process.pid} ${processStart(process.pid)}\n`)
  try {
    linkSync(aside, join(folder, 'started'))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(aside)
  }
}

export const release = (folder: string) => rmSync(join(folder, 'started'), { force: true })

/** The supervisor that claimed a job, if it still runs; a process that got its number later has another start time. */
export function supervisorOf(folder: string): { readonly pid: number; readonly alive: boolean } | undefined {
  const file = join(folder, 'started')
  if (!existsSync(file)) return undefined
  const [pid, ...started] = readFileSync(file, 'utf8').trim().split(' ')
  return { pid: Number(pid), alive: started.length > 0 && processStart(Number(pid)) === started.join(' ') }
}

/** A job that goes on without its supervisor gets another one: true for the one that may be that. */
export function takeOver(folder: string): boolean {
  const before = supervisorOf(folder)
  if (!before || before.alive || readOutcome(folder)) return false
  const [claimed, aside] = [join(folder, 'started'), join(folder, `ended.${process.pid}`)]
  try {
    renameSync(claimed, aside)
  } catch {
    return false // another was first
  }
  const isSame = Number(readFileSync(aside, 'utf8').split(' ')[0]) === before.pid
  if (!isSame) renameSync(aside, claimed)
  return isSame && claim(folder)
}

/** Holds for a supervisor that comes later, too. */
export const askStop = (folder: string) => writeFileSync(join(folder, 'stop'), '')
export const isStopAsked = (folder: string) => existsSync(join(folder, 'stop'))

export const writeStatus = (folder: string, status: JobStatus) => writeWhole(join(folder, 'status.json'), status)

/** What the supervisor last saw, where it can see more than that the job runs. */
export function readStatus(folder: string): JobStatus | undefined {
  const file = join(folder, 'status.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as JobStatus) : undefined
}

/** What nodes on other hosts print, each line with the name of its log: put where the job's logs are. */
export function keepLine(folder: string, line: string): void {
  const { log, text } = untagged(line)
  if (log === FAILURE) appendFileSync(join(folder, 'failure.txt'), `${text}\n`)
  const isJobs = log === FAILURE || log === 'job'
  appendFileSync(join(jobFolder(folder).logs, `${isJobs ? 'job' : log}.log`), isJobs ? timed(text) : `${text}\n`)
}

/** Lines of job.log, each with its time. */
export function timed(text: string, now = new Date()): string {
  const stamp = `${now.toISOString().slice(0, 19)}Z`
  return text
    .split('\n')
    .map((line) => `${stamp} ${line}\n`)
    .join('')
}

/** What they said is wrong. */
export function readFailure(folder: string): string | undefined {
  const file = join(folder, 'failure.txt')
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().slice(0, MOST_CHARACTERS) : undefined
}

/** The job goes on in spite of it; job.log keeps it. */
export const forgetFailure = (folder: string) => rmSync(join(folder, 'failure.txt'), { force: true })

const MOST_CHARACTERS = 4000

export const writeOutcome = (folder: string, outcome: Outcome) => writeWhole(join(folder, 'outcome.json'), outcome)

export function readOutcome(folder: string): Outcome | undefined {
  const file = join(folder, 'outcome.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Outcome) : undefined
}

/** The logs of a job until it is over. */
export function followOutcome(folder: string): AsyncIterable<string> {
  return readLogs(jobFolder(folder).logs, {}, () => readOutcome(folder) !== undefined)
}

export function writeWhole(file: string, value: unknown): void {
  writeFileSync(`${file}.part`, `${JSON.stringify(value, undefined, 2)}\n`)
  renameSync(`${file}.part`, file)
}
