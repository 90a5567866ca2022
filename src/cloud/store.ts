/** @file The durable state of a job server: journal, fold, and a folder for each job's files, logs and outcome. */
import { randomBytes } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../util/index.ts'
import { claim, release, supervisorOf, takeOver } from './job-folder.ts'
import { applyRecord, type CloudJob, emptyState, type JobRecord, type JobRequest } from './jobs.ts'
import { openJournal } from './journal.ts'

export interface Store {
  readonly jobs: ReadonlyMap<string, CloudJob>
  /** `fs_ugi` of a job that is not over. */
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
    await mkdir(folder, { recursive: true, mode: 0o711 })
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

/** Opens what is there. A submission that had not ended is taken back: its client was told nothing. */
export async function openStore(folder: string, clock: () => number = Date.now): Promise<Store> {
  await mkdir(join(folder, 'jobs'), { recursive: true, mode: 0o711 })
  const { records, journal } = await openJournal<JobRecord>(join(folder, 'journal'))
  const state = emptyState()
  for (const record of records) applyRecord(state, record)
  const folderOf = (id: string) => join(folder, 'jobs', id)
  const put = async (record: JobRecord) => {
    await journal.append(record)
    applyRecord(state, record)
  }
  const setPhase: Store['setPhase'] = async (id, phase, reason) =>
    await put({ t: 'phase', id, at: clock(), phase, ...(reason !== undefined && { reason }) })
  for (const { id, phase } of [...state.jobs.values()]) {
    if (phase !== 'uploading') continue
    await setPhase(id, 'stopped', 'the server ended before all files had come')
    await rm(folderOf(id), { recursive: true, force: true })
  }
  return {
    jobs: state.jobs,
    secretOf: (id) => state.secrets.get(id),
    create: async (user, request, fsUgi) => {
      const id = `job-${randomBytes(8).toString('hex')}`
      await mkdir(join(folderOf(id), 'files'), { recursive: true, mode: 0o755 })
      await put({ t: 'job', id, at: clock(), user, request, ...(fsUgi !== undefined && { fsUgi }) })
      return state.jobs.get(id)!
    },
    setPhase,
    folderOf,
    close: journal.close,
  }
}
