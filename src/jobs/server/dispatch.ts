/** @file Jobs from the queue to their supervisors, and how they end. A job is started at most once, whatever happens to this process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, closeSync, constants, copyFileSync, existsSync, mkdirSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { askStop, jobFolder, readOutcome, supervisorOf, writeRequest } from '../executors/index.ts'
import type { Accounts } from './accounts.ts'
import { type ExecutorTraits, startable } from './admission.ts'
import { lastLinesOfJob } from './open-of-job.ts'
import { endAs, isOf, type RunAs, runAs } from './run-as.ts'
import { type CloudJob, isActive, type Store } from './store.ts'

export interface DispatchOptions {
  readonly store: Store
  readonly accounts: () => Accounts
  readonly executor: ExecutorTraits
  /** The words that run a supervisor; the job's folder is added. */
  readonly supervisor: (hostfile: string | undefined) => readonly string[]
  /** Each job gets a copy: that of the server may be closed to its user. */
  readonly hostfile?: string | undefined
  readonly env: NodeJS.ProcessEnv
  readonly warn: (message: string) => void
}

export interface Dispatcher {
  /** Looks at all jobs now: ends what has ended, starts what may start. */
  turn(): Promise<void>
  stop(id: string): Promise<void>
}

const UPLOAD_MS = 30 * 60_000 // a client that has not come back by then never will
const START_MS = 60_000 // a supervisor that has not claimed its job by then never will
const AGAIN_MS = 10_000 // between two supervisors of a job that goes on; only one of them gets it

export function createDispatcher(options: DispatchOptions): Dispatcher {
  const { store, accounts, executor } = options
  const begun: Begun = new Map()
  const each = oneByOne(options.warn)
  const turn = async () => {
    for (const job of store.jobs.values()) {
      if (isActive(job.phase)) await each(job, () => follow(job, options, begun))
      else if (job.phase === 'uploading' && Date.now() - job.changedAt > UPLOAD_MS)
        await store.setPhase(job.id, 'stopped', 'its files did not all come within half an hour')
    }
    const known = readable(accounts)
    if (!known) return
    for (const job of startable(store.jobs.values(), known, executor)) await each(job, () => start(job, options, begun))
  }
  // One turn at a time: two would start the same job.
  let last: Promise<void> = Promise.resolve()
  const next = () => {
    last = last.then(turn).catch((error: Error) => options.warn(`the queue could not be served: ${error.message}`))
    return last
  }
  return { turn: next, stop: async (id) => await stop(id, options) }
}

/** What one job makes impossible holds up none of the others. It is looked at again in the next turn, and told once. */
function oneByOne(warn: DispatchOptions['warn']) {
  const said = new Map<string, string>()
  return async (job: CloudJob, work: () => Promise<void>) => {
    try {
      await work()
      said.delete(job.id)
    } catch (error) {
      const { message } = error as Error
      if (said.get(job.id) !== message) warn(`${job.id} is held up: ${message}`)
      said.set(job.id, message)
    }
  }
}

/** Undefined while the accounts cannot be read, which their reader reports: no job starts then, since whose it would run as is unknown. */
function readable(accounts: () => Accounts): Accounts | undefined {
  try {
    return accounts()
  } catch {
    return undefined
  }
}

/** On the disk the job is starting before anything starts: after a crash it is followed, and its claim lets only one supervisor run it. */
async function start(job: CloudJob, options: DispatchOptions, begun: Begun): Promise<void> {
  const { store, accounts } = options
  const folder = store.folderOf(job.id)
  writeRequest(folder, job.request)
  const { logs, hosts } = jobFolder(folder)
  mkdirSync(logs, { recursive: true })
  if (options.hostfile !== undefined) copyFileSync(options.hostfile, hosts)
  const owner = ownerOf(job, accounts(), options)
  if (owner) giveTo(folder, owner)
  await store.setPhase(job.id, 'starting')
  await supervise(job, options, begun)
}

/** Undefined: the server itself. */
function ownerOf(job: CloudJob, { users }: Accounts, { executor }: DispatchOptions): RunAs | undefined {
  const uid = executor.runsElsewhere ? undefined : users[job.user]?.uid
  return uid === undefined ? undefined : runAs(uid)
}

interface Supervisor {
  readonly startedAt: number
  /** How it ended, where it did while this server watched. */
  end?: string
}

/** The supervisor of each job that was started last. */
type Begun = Map<string, Supervisor>

async function supervise(job: CloudJob, options: DispatchOptions, begun: Begun): Promise<void> {
  const { store, accounts, supervisor, env } = options
  const known = readable(accounts)
  if (!known) return
  const started: Supervisor = { startedAt: Date.now() }
  begun.set(job.id, started)
  let fsUgi: string | undefined
  try {
    fsUgi = store.secretOf(job.id) ?? env['OARFISH_FS_UGI']
  } catch (error) {
    return await store.setPhase(job.id, 'failed', (error as Error).message)
  }
  const folder = store.folderOf(job.id)
  const owner = ownerOf(job, known, options)
  const { hosts } = jobFolder(folder)
  const [program, ...words] = supervisor(existsSync(hosts) ? hosts : options.hostfile) as [string, ...string[]]
  const log = openSync(saidFile(folder), LOG_FLAGS, 0o644)
  try {
    const child = spawn(program, [...words, folder], {
      detached: true,
      cwd: folder, // mpirun asks for it on every node, and the server's own may be closed to the user
      stdio: ['ignore', 'ignore', log],
      env: { ...env, ...owner?.env, OARFISH_JOB_ID: job.id, OARFISH_FS_UGI: fsUgi },
      uid: owner?.uid,
      gid: owner?.gid,
    })
    noteEnd(child, started)
    child.unref()
  } catch (error) {
    started.end = (error as Error).message
  } finally {
    closeSync(log)
  }
}

/** What a supervisor says before it can say it in job.log. */
const saidFile = (folder: string) => join(folder, 'supervisor.txt')
/** The folder may be a user's, who must not lead the server elsewhere, nor let it wait at a pipe. */
const LOG_FLAGS =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK

function noteEnd(child: ChildProcess, started: Supervisor): void {
  child.once('error', (error) => {
    started.end = error.message
  })
  child.once('exit', (code, signal) => {
    started.end ??= signal ? `ended by ${signal}` : `exit code ${code}`
  })
}

async function follow(job: CloudJob, options: DispatchOptions, begun: Begun): Promise<void> {
  const { store, executor } = options
  const folder = store.folderOf(job.id)
  const outcome = readOutcome(folder)
  if (outcome) return await store.setPhase(job.id, outcome.phase, outcome.reason)
  const known = readable(options.accounts)
  if (!known) return
  const supervisor = supervisorAs(ownerOf(job, known, options), folder)
  if (supervisor?.alive) {
    if (job.phase === 'starting') await store.setPhase(job.id, 'running')
  } else if (supervisor && executor.resumes) {
    if (Date.now() - (begun.get(job.id)?.startedAt ?? 0) > AGAIN_MS) await supervise(job, options, begun)
  } else if (supervisor) {
    // Between its outcome and its end there is a moment in which only the first look is too early.
    const late = readOutcome(folder)
    await store.setPhase(
      job.id,
      late?.phase ?? 'failed',
      late ? late.reason : 'its supervisor was killed; its logs are kept',
    )
  } else if (!begun.has(job.id)) {
    // A server that was killed between the journal and the process has left the job without one.
    await supervise(job, options, begun)
  } else {
    const { end, startedAt } = begun.get(job.id)!
    const why = end ?? (Date.now() - startedAt > START_MS ? 'it did not begin within a minute' : undefined)
    if (why !== undefined) await store.setPhase(job.id, 'failed', notStarted(why, job, options))
  }
}

const SAID_LINES = 12

/** Also what it printed: a program or a folder that its user may not read, mostly. */
function notStarted(why: string, job: CloudJob, options: DispatchOptions): string {
  const folder = options.store.folderOf(job.id)
  const said = lastLinesOfJob(folder, saidFile(folder), SAID_LINES)
  const owner = ownerOf(job, readable(options.accounts) ?? { groups: {}, users: {} }, options)
  const who = owner === undefined ? '' : ` as uid ${owner.uid}`
  const hint =
    owner === undefined ? '' : `\nThat uid must be able to read ${process.execPath}, this package and ${folder}.`
  return `its supervisor could not be started${who}: ${[why, ...said].join('\n')}${hint}`
}

async function stop(id: string, options: DispatchOptions): Promise<void> {
  const { store, accounts } = options
  const job = store.jobs.get(id)!
  if (job.phase === 'queued' || job.phase === 'uploading') return await store.setPhase(id, 'stopped')
  if (!isActive(job.phase)) return
  const folder = store.folderOf(id)
  askStop(folder)
  const known = readable(accounts)
  if (!known) return // it has been asked; whose process it is cannot be told
  const owner = ownerOf(job, known, options)
  const supervisor = supervisorAs(owner, folder)
  if (!supervisor?.alive) return
  if (owner === undefined) process.kill(supervisor.pid, 'SIGTERM')
  else endAs(supervisor.pid, owner)
}

/** Which process it is stands in the folder, which is the user's: one of somebody else is not followed, and not ended. */
function supervisorAs(owner: RunAs | undefined, folder: string) {
  const supervisor = supervisorOf(folder)
  return supervisor && { ...supervisor, alive: supervisor.alive && (!owner || isOf(supervisor.pid, owner)) }
}

function giveTo(folder: string, { uid, gid }: RunAs): void {
  chownSync(folder, uid, gid)
  for (const name of readdirSync(folder, { recursive: true }) as string[]) chownSync(join(folder, name), uid, gid)
}
