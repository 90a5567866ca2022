/** @file The durable state of a job server: its jobs as a fold over its journal, and a folder for each job's files, logs and outcome. */
import { randomBytes } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../base/util/index.ts'
import { claim, type JobRequest, release, supervisorOf, takeOver } from '../executors/index.ts'
import { isOver, type JobPhase } from '../submit/index.ts'
import { type JobSecrets, openJobSecrets } from './job-secrets.ts'
import { openJournal, rewriteJournal } from './journal.ts'
import { makePassable } from './passable.ts'
import { openSealer } from './seal.ts'

export interface Store {
  readonly jobs: ReadonlyMap<string, CloudJob>
  /** `fs_ugi` of a job that is not over; throws where it cannot be opened. */
  secretOf(id: string): string | undefined
  create(user: string, request: JobRequest, fsUgi: string | undefined): Promise<CloudJob>
  setPhase(id: string, phase: CloudJob['phase'], reason?: string): Promise<void>
  folderOf(id: string): string
  close(): Promise<void>
}

/**
 * Makes a folder this process's own until the function that it returns is called: a second server would take back what is being
 * submitted to the first.
 */
export async function holdStore(folder: string): Promise<() => void> {
  try {
    await makePassable(folder)
    if (claim(folder) || takeOver(folder)) return () => release(folder)
  } catch (cause) {
    throw new UserError(`Jobs cannot be kept in ${folder}: ${(cause as Error).message}.`, {
      code: 'CLOUD_STORE',
      hint: 'Name a folder that you may write to with --dir.',
      cause,
    })
  }
  throw new UserError(`Another job server, process ${supervisorOf(folder)?.pid}, keeps its jobs in ${folder}.`, {
    code: 'CLOUD_STORE',
    hint: 'End it first, or name another folder with --dir.',
  })
}

/** Opens what is there. A submission that had not ended is taken back: its client has no id of it. */
export async function openStore(folder: string, clock: () => number = Date.now): Promise<Store> {
  await makePassable(join(folder, 'jobs'))
  const path = join(folder, 'journal')
  const secrets = openJobSecrets(join(folder, 'secrets'), openSealer(join(folder, 'secrets.key')))
  await moveSecrets(path, secrets)
  const { records, journal } = await openJournal<JobRecord>(path)
  const jobs = jobsOf(records)
  secrets.keepOnly((id) => jobs.has(id) && !isOver(jobs.get(id)!.phase))
  const folderOf = (id: string) => join(folder, 'jobs', id)
  const put = async (record: JobRecord) => {
    await journal.append(record)
    applyRecord(jobs, record)
  }
  const setPhase: Store['setPhase'] = async (id, phase, reason) => {
    await put({ t: 'phase', id, at: clock(), phase, reason })
    if (isOver(phase)) secrets.drop(id)
  }
  for (const { id, phase } of [...jobs.values()]) {
    if (phase !== 'uploading') continue
    await setPhase(id, 'stopped', 'the server ended before all files had come')
    await rm(folderOf(id), { recursive: true, force: true })
  }
  return {
    jobs,
    secretOf: secrets.of,
    create: async (user, request, fsUgi) => {
      const id = `job-${randomBytes(8).toString('hex')}`
      await mkdir(join(folderOf(id), 'files'), { recursive: true, mode: 0o755 })
      // Before the job is promised: a server that is killed in between finds a secret without a job, and removes it.
      if (fsUgi !== undefined) await secrets.put(id, fsUgi)
      await put({ t: 'job', id, at: clock(), user, request, ...(fsUgi === undefined ? {} : { hadUgi: true }) })
      return jobs.get(id)!
    },
    setPhase,
    folderOf,
    close: journal.close,
  }
}

export interface CloudJob {
  readonly id: string
  /** Name of the user. */
  readonly user: string
  readonly request: JobRequest
  readonly submittedAt: number
  readonly phase: JobPhase | 'uploading'
  readonly changedAt: number
  readonly reason?: string | undefined
  /** It was given an `fs_ugi`, which is forgotten with its end. */
  readonly hadUgi?: boolean | undefined
}

/** What the journal holds. `fsUgi` is kept apart and reaches processes through their environment. */
export type JobRecord =
  | {
      readonly t: 'job'
      readonly id: string
      readonly at: number
      readonly user: string
      readonly request: JobRequest
      readonly hadUgi?: boolean | undefined
      /** Written by earlier versions; moved out when such a journal is opened. */
      readonly fsUgi?: string | undefined
    }
  | {
      readonly t: 'phase'
      readonly id: string
      readonly at: number
      readonly phase: CloudJob['phase']
      readonly reason?: string | undefined
    }

export function jobsOf(records: readonly JobRecord[]): Map<string, CloudJob> {
  const jobs = new Map<string, CloudJob>()
  for (const record of records) applyRecord(jobs, record)
  return jobs
}

function applyRecord(jobs: Map<string, CloudJob>, record: JobRecord): void {
  if (record.t === 'job') {
    const { id, user, request, at, hadUgi } = record
    jobs.set(id, { id, user, request, submittedAt: at, phase: 'uploading', changedAt: at, hadUgi })
    return
  }
  const { id, phase, at, reason } = record
  jobs.set(id, { ...jobs.get(id)!, phase, changedAt: at, reason })
}

/** A journal of an earlier version, which had secrets in plain text: those of jobs that go on are sealed, the others are gone. */
async function moveSecrets(path: string, secrets: JobSecrets): Promise<void> {
  const { records, journal } = await openJournal<JobRecord>(path)
  await journal.close()
  if (!records.some((record) => record.t === 'job' && record.fsUgi !== undefined)) return
  const jobs = jobsOf(records)
  for (const record of records)
    if (record.t === 'job' && record.fsUgi !== undefined && !isOver(jobs.get(record.id)!.phase))
      await secrets.put(record.id, record.fsUgi)
  await rewriteJournal(
    path,
    records.map((record) => (record.t === 'job' ? { ...record, fsUgi: undefined } : record)),
  )
}

export const isActive = (phase: CloudJob['phase']) => phase === 'starting' || phase === 'running'
