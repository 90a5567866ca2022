/**
 * @file Where a job runs, one file each: facts that are looked up, a pure plan, and what applies it.
 * Knows nothing of accounts, queues or HTTP; the job server and the command line call it.
 */

export type { Executor, FactOptions } from './executor.ts'
export {
  type AnnouncedFile,
  askStop,
  claim,
  followOutcome,
  isStopAsked,
  type JobRequest,
  jobFolder,
  jobOfFolder,
  readFailure,
  readOutcome,
  readRequest,
  readStatus,
  release,
  supervisorOf,
  takeOver,
  timed,
  writeOutcome,
  writeRequest,
} from './job-folder.ts'
export type { Outcome } from './job-reports.ts'
export { type Plan, printPlan } from './plan.ts'
export { EXECUTOR_NAMES, type ExecutorName, executorOf, planJob, submittedBy } from './registry.ts'
export { runBatch } from './slurm.ts'
