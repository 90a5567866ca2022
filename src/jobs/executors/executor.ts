/**
 * @file What every executor is: facts are looked up, a plan is made of them, the plan is printed (--dry-run) or applied. An executor is one
 * file beside this one and one row in index.ts.
 */
import type { Env } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import type { Job } from '../submit/index.ts'
import type { Plan } from './plan.ts'

export interface Executor<Facts = unknown> {
  /** Ends of the kinds of job it runs: `_MPI`, `_K8S`. */
  readonly kinds: readonly string[]
  /** Jobs at one time. */
  readonly atOnce: number
  /** Its jobs go on although their supervisors are gone: they get others. */
  readonly resumes: boolean
  /** Its hosts are those of a hostfile. */
  readonly needsHostfile?: boolean
  /** No program of a user runs here, nor with what this host may do: supervisors stay the server's, whatever uid a user has. */
  readonly runsElsewhere?: boolean
  /** Throws where no job could run: a job server asks when it starts. */
  check?(options: FactOptions): Promise<void>
  /** All that a plan depends on beside the job. Reads; changes nothing. */
  lookUp(job: Job, options: FactOptions): Promise<Facts>
  /** Pure: the same job, folder and facts give the same plan. No secret is in it. */
  plan(target: PlannedJob, facts: Facts): Plan
  /** Does what the plan says and resolves to the job's exit code, or to undefined when it was asked to stop. */
  apply(plan: Plan, context: ApplyContext): Promise<number | undefined>
  /** Where a job needs nobody once the cluster has it: hands it over and returns. `apply` then follows it. */
  submit?(plan: Plan, context: SubmitContext): Promise<void>
  /** Whether the job of this folder was handed over. */
  isSubmitted?(folder: string): boolean
}

export interface FactOptions {
  /** Of the job's processes: `fs_ugi` is there as OARFISH_FS_UGI. */
  readonly env: Env
  /** Of this package. */
  readonly version: string
  readonly hostfile?: string | undefined
  /** On Kubernetes: where jobs lie, whatever they say. */
  readonly namespace?: string | undefined
  /** Other users of a job server may have jobs of the same name. @default false */
  readonly isServed?: boolean
}

/** The folder has the job's files and gets its logs; before there is one (--dry-run) it is called JOB. */
export interface PlannedJob {
  readonly job: Job
  readonly folder: string
}

export interface ApplyContext extends PlannedJob, Pick<FactOptions, 'env' | 'version' | 'namespace'> {
  readonly emit: EventSink
  readonly signal: AbortSignal
  /** It may have been started by a supervisor that is gone. */
  readonly again: boolean
}

export interface SubmitContext extends PlannedJob, Pick<FactOptions, 'env' | 'namespace'> {
  /** Delete a job of the same name first. */
  readonly replace: boolean
  readonly say: (line: string) => void
}
