/** @file What the page of a job server asks for and gets: plain JSON, the same types on both sides. Imports types alone, since a browser reads it too. */

export type JobState = 'uploading' | 'queued' | 'starting' | 'running' | 'succeeded' | 'failed' | 'stopped'

export interface GroupRow {
  readonly name: string
  /** Nodes that its jobs may hold at one time, and hold. */
  readonly quota: number
  readonly held: number
  readonly priorities: readonly string[]
  /** Its jobs that wait, in their order, as far as this user may see them. */
  readonly queue: readonly { readonly jobId: string; readonly name: string; readonly place: number }[]
  readonly waiting: number
}

export interface Me {
  readonly name: string
  readonly ak: string
  readonly admin: boolean
  readonly uid?: number | undefined
  readonly executor: string
  readonly version: string
  readonly groups: readonly GroupRow[]
}

export interface JobRow {
  readonly jobId: string
  readonly user: string
  readonly name: string
  readonly group: string
  readonly priority: string
  readonly kind: string
  readonly nodes: number
  readonly phase: JobState
  readonly reason?: string | undefined
  readonly submittedAt: number
  readonly changedAt: number
  /** Among all that wait, from 1. */
  readonly place?: number | undefined
  readonly remark?: string | undefined
  readonly version?: string | undefined
  /** Of this user: only its owner may submit it again, only they and administrators may stop it. */
  readonly isOwn: boolean
  readonly mayStop: boolean
}

export interface JobLog {
  /** `trainer.0` */
  readonly name: string
  readonly bytes: number
  readonly updatedAt: number
}

export interface JobProcess {
  readonly role: string
  readonly rank: number
  readonly host?: string | undefined
  readonly phase: string
  readonly exitCode?: number | undefined
  readonly pod?: string | undefined
  readonly events?: readonly PodEvent[] | undefined
}

export interface PodEvent {
  readonly at: number
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly count: number
}

export interface JobDetail {
  readonly row: JobRow
  readonly roles: readonly { readonly name: string; readonly replicas: number }[]
  readonly permission: string
  readonly wallSeconds?: number | undefined
  readonly command: string
  readonly env: Readonly<Record<string, string>>
  readonly data: Readonly<Record<string, string | undefined>>
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly isThere: boolean }[]
  readonly logs: readonly JobLog[]
  readonly processes: readonly JobProcess[]
  readonly restarts: readonly { readonly at: number; readonly reason?: string | undefined }[]
  readonly runs: readonly { readonly id: string; readonly name: string; readonly state: string }[]
  /** Its credentials for the file system are forgotten: to be submitted again it needs them anew. */
  readonly needsUgi: boolean
}
