/** @file A job as one description: what runs, how often, with what. Every backend renders it and adds nothing of its own. */
import { readFileSync } from 'node:fs'
import type { JobKind, PodFramework, Priority } from '../../base/config/index.ts'

export type RoleName = 'pserver' | 'trainer'

/** Processes that are alike but for their number. */
export interface RoleSpec {
  readonly name: RoleName
  readonly replicas: number
  readonly resources: Resources
}

export interface Resources {
  readonly cpu?: number | undefined
  /** As Kubernetes writes it: `4Gi`. */
  readonly memory?: string | undefined
  readonly gpu?: { readonly resource: string; readonly cards: number } | undefined
}

/** A file for the working folder of each process; the folder is flat. */
export interface JobFile {
  readonly name: string
  readonly content: FileContent
}

/** One of three: a file of this machine, its text, or its bytes as they travel. */
export type FileContent =
  | { readonly path: string; readonly text?: undefined; readonly base64?: undefined }
  | { readonly text: string; readonly path?: undefined; readonly base64?: undefined }
  | { readonly base64: string; readonly path?: undefined; readonly text?: undefined }

export function bytesOfContent(content: FileContent): Buffer {
  if (content.path !== undefined) return readFileSync(content.path)
  return content.text === undefined ? Buffer.from(content.base64, 'base64') : Buffer.from(content.text)
}

/** Where data lies on the job's file system, and what comes back. */
export interface JobData {
  /** `hdfs://host:port`, `s3://bucket`, `file:///folder`; the paths below are below it. */
  readonly fileSystem?: string | undefined
  /** Dealt out to the nodes as ./train_data. */
  readonly train?: string | undefined
  /** Dealt out to the nodes as ./test_data. */
  readonly test?: string | undefined
  /** Whole on every node, as ./thirdparty. */
  readonly thirdparty?: string | undefined
  /** Seen by every process at ./afs/. */
  readonly mount?: string | undefined
  /** Receives what the job wrote. */
  readonly output?: string | undefined
}

/** Names of values that never stand in a file of the job; where they are kept is the backend's business. */
export interface Secrets {
  /** Profile of `~/.config/oarfish/credentials`, or of the environment. */
  readonly profile: string
  /** Variables that processes get from it. */
  readonly env: readonly string[]
}

/** What only pods have; what is not said is the cluster's, or that of whoever submits for others. */
export interface PodSettings {
  readonly framework: PodFramework
  readonly image?: string | undefined
  readonly namespace?: string | undefined
  readonly scheduler?: string | undefined
  /** One that is there; without it a job gets its own. */
  readonly serviceAccount?: string | undefined
  readonly pullSecrets?: readonly string[] | undefined
  /** How often all pods are started again, after one has failed. */
  readonly maxRetry?: number | undefined
}

export interface Job {
  readonly name: string
  readonly group: string
  readonly priority: Priority
  readonly kind: JobKind
  readonly roles: readonly RoleSpec[]
  /** Shell line of each process, translated; run in the folder of its files between the two hooks. */
  readonly command: string
  /** The entries of config.ini. */
  readonly env: Readonly<Record<string, string>>
  readonly files: readonly JobFile[]
  readonly data: JobData
  readonly secrets: Secrets
  readonly pods?: PodSettings | undefined
  /** It is ended after so long; undefined: never. */
  readonly wallSeconds?: number | undefined
  /** Who may see it beside its user, who alone may stop it. @default private */
  readonly permission?: Permission | undefined
  /** Shown with the job: what its submitter says of it. */
  readonly version?: string | undefined
  readonly remark?: string | undefined
}

/** Of `--permission`: the users of its group see a job, its status and its logs, or nobody else does. */
export const PERMISSIONS = ['group', 'private'] as const
export type Permission = (typeof PERMISSIONS)[number]

/** No group is the one called default, on every backend. */
export const groupOf = (written: string) => (written === '' ? 'default' : written)

/** A job without its files and secrets: what config.ini and the flags of its submission say of it. */
export type DescribedJob = Omit<Job, 'files' | 'secrets'>

/** Nodes (MPI) or pods that a job holds while it runs. */
export function jobSize({ roles, kind }: Pick<Job, 'roles' | 'kind'>): number {
  const counts = roles.map(({ replicas }) => replicas)
  return kind.endsWith('_MPI') ? Math.max(...counts) : counts.reduce((sum, count) => sum + count, 0)
}

export type JobPhase = 'queued' | 'starting' | 'running' | 'succeeded' | 'failed' | 'stopped'

export const isOver = (phase: JobPhase | 'uploading') => ['succeeded', 'failed', 'stopped'].includes(phase)

export interface JobStatus {
  readonly phase: JobPhase
  /** Why, where it is not plain: the first failing process and its last lines, or why it cannot be placed. */
  readonly reason?: string | undefined
  readonly processes: readonly {
    readonly role: RoleName
    readonly rank: number
    readonly host?: string | undefined
    readonly phase: JobPhase
    readonly exitCode?: number | undefined
    /** On Kubernetes: its pod, and what the cluster said of it. */
    readonly pod?: string | undefined
    readonly events?: readonly PodEvent[] | undefined
  }[]
  /** When all pods were started again, and why. */
  readonly restarts?: readonly Restart[] | undefined
}

export interface PodEvent {
  /** In milliseconds. */
  readonly at: number
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly count: number
}

export interface Restart {
  /** In milliseconds. */
  readonly at: number
  readonly reason?: string | undefined
}
