/** @file The jobs of a server: a fold over its journal. Pure but for the journal. */
import type { Job, JobPhase } from '../submit/index.ts'

/** A file that a job is to have, as its submitter announced it. */
export interface AnnouncedFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

/** A job without the content of its files: they are uploaded one by one. */
export type JobRequest = Omit<Job, 'files' | 'secrets'> & { readonly files: readonly AnnouncedFile[] }

export interface CloudJob {
  readonly id: string
  /** Name of the user. */
  readonly user: string
  readonly request: JobRequest
  readonly submittedAt: number
  readonly phase: JobPhase | 'uploading'
  readonly changedAt: number
  readonly reason?: string
}

/** What the journal holds. `fsUgi` stays on the server and reaches processes through their environment. */
export type JobRecord =
  | {
      readonly t: 'job'
      readonly id: string
      readonly at: number
      readonly user: string
      readonly request: JobRequest
      readonly fsUgi?: string
    }
  | {
      readonly t: 'phase'
      readonly id: string
      readonly at: number
      readonly phase: CloudJob['phase']
      readonly reason?: string
    }

export interface JobState {
  readonly jobs: Map<string, CloudJob>
  readonly secrets: Map<string, string>
}

export const emptyState = (): JobState => ({ jobs: new Map(), secrets: new Map() })

export function applyRecord({ jobs, secrets }: JobState, record: JobRecord): void {
  if (record.t === 'job') {
    const { id, user, request, at, fsUgi } = record
    jobs.set(id, { id, user, request, submittedAt: at, phase: 'uploading', changedAt: at })
    if (fsUgi !== undefined) secrets.set(id, fsUgi)
    return
  }
  const { id, phase, at, reason } = record
  const { reason: _before, ...job } = jobs.get(id)!
  jobs.set(id, { ...job, phase, changedAt: at, ...(reason !== undefined && { reason }) })
  if (isOver(phase)) secrets.delete(id)
}

export const isOver = (phase: CloudJob['phase']) => phase === 'succeeded' || phase === 'failed' || phase === 'stopped'
export const isActive = (phase: CloudJob['phase']) => phase === 'starting' || phase === 'running'

/** Nodes (MPI) or pods that a job holds while it runs. */
export function sizeOf({ roles, kind }: Pick<JobRequest, 'roles' | 'kind'>): number {
  const counts = roles.map(({ replicas }) => replicas)
  return kind.endsWith('_MPI') ? Math.max(...counts) : counts.reduce((sum, count) => sum + count, 0)
}
