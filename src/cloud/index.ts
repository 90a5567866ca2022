/** @file The public face of cloud/: the job server and its client. */
export { accountsReader, addGroup, addUser, type Group, type NewUser, rotateKeys, type User } from './accounts.ts'
export type { ExecutorTraits, Limits } from './admission.ts'
export {
  type CloudClient,
  cloudClient,
  type JobList,
  type JobSummary,
  type LogQuery,
  type Submission,
} from './client.ts'
export { type ConfigIni, parseConfigIni } from './config-ini.ts'
export { createDispatcher, type Dispatcher } from './dispatch.ts'
export {
  followOutcome,
  jobFolder,
  jobOfFolder,
  readOutcome,
  readRequest,
  readStatus,
  supervisorOf,
  writeRequest,
} from './job-folder.ts'
export { type JobRequest, sizeOf } from './jobs.ts'
export { renderOptions, submitPods } from './kubernetes.ts'
export { findMpirun, mpirunWords } from './mpirun.ts'
export { openApi } from './openapi.ts'
export { createJobServer, type ServerOptions } from './server.ts'
export type { Keys } from './sign.ts'
export { batchWords, runBatch } from './slurm.ts'
export { findSlurm } from './slurm-command.ts'
export { holdStore, openStore, type Store } from './store.ts'
export {
  EXECUTOR_NAMES,
  type ExecutorName,
  type SuperviseJobOptions,
  superviseCloudJob,
} from './supervise.ts'
export { checkHook, requestFrom, type TrainFlags } from './train-flags.ts'
