/** @file Jobs from the queue to their supervisors, and how they end. A job is started at most once, whatever happens to this process. */
import { spawn } from 'node:child_process'
import { chownSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { askStop, jobFolder, readOutcome, supervisorOf, writeRequest } from '../executors/index.ts'
import type { Accounts } from './accounts.ts'
import { type ExecutorTraits, startable } from './admission.ts'
import { type CloudJob, isActive, type Store } from './store.ts'

export interface DispatchOptions {
  readonly store: Store
  readonly accounts: () => Accounts
  readonly executor: ExecutorTraits
  /** The words that run a supervisor; the job's folder is added. */
  readonly supervisor: readonly string[]
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
  const begun = new Map<string, number>() // when a supervisor of a job was last started
  const turn = async () => {
    for (const job of store.jobs.values()) {
      if (isActive(job.phase)) await follow(job, options, begun)
      else if (job.phase === 'uploading' && Date.now() - job.changedAt > UPLOAD_MS)
        await store.setPhase(job.id, 'stopped', 'its files did not all come within half an hour')
    }
    const known = readable(accounts)
    if (known) for (const job of startable(store.jobs.values(), known, executor)) await start(job, options, begun)
  }
  // One turn at a time: two would start the same job.
  let last: Promise<void> = Promise.resolve()
  const next = () => {
    last = last.then(turn).catch((error: Error) => options.warn(`the queue could not be served: ${error.message}`))
    return last
  }
  return { turn: next, stop: async (id) => await stop(id, store) }
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
  mkdirSync(jobFolder(folder).logs, { recursive: true })
  const uid = accounts().users[job.user]?.uid
  if (uid !== undefined) giveTo(folder, uid)
  await store.setPhase(job.id, 'starting')
  await supervise(job, options, begun)
}

type Begun = Map<string, number>

async function supervise(
  job: CloudJob,
  { store, accounts, supervisor, env }: DispatchOptions,
  begun: Begun,
): Promise<void> {
  const known = readable(accounts)
  if (!known) return
  begun.set(job.id, Date.now())
  let fsUgi: string | undefined
  try {
    fsUgi = store.secretOf(job.id) ?? env['OARFISH_FS_UGI']
  } catch (error) {
    return await store.setPhase(job.id, 'failed', (error as Error).message)
  }
  const folder = store.folderOf(job.id)
  const { uid } = known.users[job.user] ?? {}
  const [program, ...words] = supervisor as [string, ...string[]]
  const child = spawn(program, [...words, folder], {
    detached: true,
    stdio: 'ignore',
    env: { ...env, OARFISH_JOB_ID: job.id, OARFISH_FS_UGI: fsUgi },
    uid,
    gid: uid,
  })
  child.on('error', () => undefined) // found by follow(), as any other that never claimed its job
  child.unref()
}

async function follow(job: CloudJob, options: DispatchOptions, begun: Begun): Promise<void> {
  const { store, executor } = options
  const folder = store.folderOf(job.id)
  const outcome = readOutcome(folder)
  if (outcome) return await store.setPhase(job.id, outcome.phase, outcome.reason)
  const supervisor = supervisorOf(folder)
  if (supervisor?.alive) {
    if (job.phase === 'starting') await store.setPhase(job.id, 'running')
  } else if (supervisor && executor.resumes) {
    if (Date.now() - (begun.get(job.id) ?? 0) > AGAIN_MS) await supervise(job, options, begun)
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
  } else if (Date.now() - begun.get(job.id)! > START_MS)
    await store.setPhase(job.id, 'failed', 'its supervisor could not be started')
}

async function stop(id: string, store: Store): Promise<void> {
  const job = store.jobs.get(id)!
  if (job.phase === 'queued' || job.phase === 'uploading') return await store.setPhase(id, 'stopped')
  if (!isActive(job.phase)) return
  const folder = store.folderOf(id)
  askStop(folder)
  const supervisor = supervisorOf(folder)
  if (supervisor?.alive) process.kill(supervisor.pid, 'SIGTERM')
}

function giveTo(folder: string, uid: number): void {
  chownSync(folder, uid, uid)
  for (const name of readdirSync(folder, { recursive: true }) as string[]) chownSync(join(folder, name), uid, uid)
}
