/** @file The folder of a job, through which its supervisor and everybody else speak: what is to run, that it was started, its logs, how it ended. */
import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { readPlain } from '../../base/runs/index.ts'
import { processStart } from '../../base/util/index.ts'
import { FAILURE, readLogs, untagged } from '../agent/index.ts'
import { bytesOfContent, type DescribedJob, type Job, type JobStatus } from '../submit/index.ts'
import { type Outcome, parseOutcome, parseStatus } from './job-reports.ts'

/** A file that a job is to have, as its submitter announced it. */
export interface AnnouncedFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

/** A job without the content of its files: they are uploaded one by one. */
export type JobRequest = DescribedJob & { readonly files: readonly AnnouncedFile[] }

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
  if (!isThere(file)) return undefined
  const [, pid = '0', started] = /^(\d{1,10}) (.+)\n?$/.exec(textOf(file) ?? '') ?? []
  return { pid: Number(pid), alive: started !== undefined && processStart(Number(pid)) === started }
}

/** Links that lead nowhere count: what they are named has been there. */
const isThere = (file: string) => lstatSync(file, { throwIfNoEntry: false }) !== undefined

const MOST_BYTES = 16 << 20

/**
 * The folder may be a user's whose rights are less than the reader's, and who may have put anything in the place of a file: a link is not followed, a pipe not
 * waited for. Undefined where it is no plain file.
 */
function textOf(file: string): string | undefined {
  try {
    return readPlain(file, 0, MOST_BYTES).toString('utf8')
  } catch {
    return undefined
  }
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
export function askStop(folder: string): void {
  const { O_WRONLY, O_CREAT, O_EXCL } = constants
  try {
    closeSync(openSync(join(folder, 'stop'), O_WRONLY | O_CREAT | O_EXCL, 0o644))
  } catch (error) {
    // Also a link that its user put there, which would lead whoever stops the job elsewhere.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
export const isStopAsked = (folder: string) => existsSync(join(folder, 'stop'))

export const writeStatus = (folder: string, status: JobStatus) => writeWhole(join(folder, 'status.json'), status)

/** What the supervisor last saw, where it can see more than that the job runs. */
export const readStatus = (folder: string): JobStatus | undefined => parseStatus(textOf(join(folder, 'status.json')))

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

/** One that cannot be read was damaged, and the job is over all the same. */
export function readOutcome(folder: string): Outcome | undefined {
  const file = join(folder, 'outcome.json')
  return isThere(file) ? parseOutcome(textOf(file)) : undefined
}

/** The logs of a job until it is over. */
export function followOutcome(folder: string): AsyncIterable<string> {
  return readLogs(jobFolder(folder).logs, {}, () => readOutcome(folder) !== undefined)
}

export function writeWhole(file: string, value: unknown): void {
  writeFileSync(`${file}.part`, `${JSON.stringify(value, undefined, 2)}\n`)
  renameSync(`${file}.part`, file)
}
