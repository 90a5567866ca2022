/** @file A job as one description: what runs, how often, with what. Every backend renders it and adds nothing of its own. */
import type { JobKind, PodFramework, Priority } from '../config/index.ts'

export type RoleName = 'pserver' | 'trainer'

/** Processes that are alike but for their number. */
export interface Role {
  readonly name: RoleName
  readonly replicas: number
  readonly resources: Resources
}

export interface Resources {
  readonly cpu?: number
  /** As Kubernetes writes it: `4Gi`. */
  readonly memory?: string
  readonly gpu?: { readonly resource: string; readonly cards: number }
}

/** A file for the working folder of each process; the folder is flat. */
export interface JobFile {
  readonly name: string
  readonly content: { readonly path: string } | { readonly text: string } | { readonly base64: string }
  /** Kept on the submitting side: job.sh, backend.yaml. */
  readonly local?: boolean
}

/** Where data lies on the job's file system, and what comes back. */
export interface JobData {
  /** `hdfs://host:port`, `s3://bucket`, `file:///folder`; the paths below are below it. */
  readonly fileSystem?: string
  /** Dealt out to the nodes as ./train_data. */
  readonly train?: string
  /** Dealt out to the nodes as ./test_data. */
  readonly test?: string
  /** Whole on every node, as ./thirdparty. */
  readonly thirdparty?: string
  /** Seen by every process at ./afs/. */
  readonly mount?: string
  /** Receives what the job wrote. */
  readonly output?: string
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
  readonly image?: string
  readonly namespace?: string
  readonly scheduler?: string
  /** One that is there; without it a job gets its own. */
  readonly serviceAccount?: string
  readonly pullSecrets?: readonly string[]
  /** How often all pods are started again, after one has failed. */
  readonly maxRetry?: number
}

export interface Job {
  readonly name: string
  readonly group: string
  readonly priority: Priority
  readonly kind: JobKind
  readonly roles: readonly Role[]
  /** Shell line of each process, translated; run in the folder of its files between the two hooks. */
  readonly command: string
  /** The entries of config.ini. */
  readonly env: Readonly<Record<string, string>>
  readonly files: readonly JobFile[]
  readonly data: JobData
  readonly secrets: Secrets
  readonly pods?: PodSettings
}

/** What a backend would do: files to write and commands or requests to make, in order. Printed by --dry-run. */
export interface Plan {
  readonly folder: string
  readonly files: readonly { readonly path: string; readonly text: string; readonly mode?: number }[]
  readonly steps: readonly PlanStep[]
}

export interface PlanStep {
  /** What it does, for a person. */
  readonly what: string
  /** The exact command line or request, secrets masked. */
  readonly does: string
}

export type JobPhase = 'queued' | 'starting' | 'running' | 'succeeded' | 'failed' | 'stopped'

export interface JobStatus {
  readonly phase: JobPhase
  /** Why, where it is not plain: the first failing process and its last lines, or why it cannot be placed. */
  readonly reason?: string
  readonly processes: readonly {
    readonly role: RoleName
    readonly rank: number
    readonly host?: string
    readonly phase: JobPhase
    readonly exitCode?: number
  }[]
}

export interface LogOptions {
  readonly role?: RoleName
  readonly rank?: number
  readonly follow?: boolean
  readonly signal?: AbortSignal
}

/** One way to run jobs. `plan` is pure; the others act. */
export interface Submitter {
  plan(job: Job): Plan
  apply(plan: Plan, job: Job, say: (line: string) => void): Promise<{ readonly id: string }>
  status(id: string): Promise<JobStatus>
  logs(id: string, options: LogOptions): AsyncIterable<string>
  stop(id: string): Promise<void>
}
