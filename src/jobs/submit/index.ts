/**
 * @file A job as data: its description, the folder it is submitted from, its flags, checks before it is sent.
 * Knows no cluster and starts nothing.
 */

export { checkData } from './check-data.ts'
export { checkScripts } from './command.ts'
export { type ConfigIni, parseConfigIni } from './config-ini.ts'
export {
  findCredentials,
  hasCredentials,
  maskOf,
  profileOf,
  reference,
  referred,
  saveCredentials,
} from './credentials.ts'
export { checkHook } from './folder.ts'
export * from './job.ts'
export { clusterRunners, executorFor, type Prepared, prepare, STAY_HERE, sentJob } from './prepare.ts'
export { describePlan, type SubmitContext, submit } from './submit.ts'
export { DEFAULT_WALL_SECONDS, readTrainFlags, TRAIN_FLAGS, type TrainFlags } from './train-flags.ts'
export { wallTimeOf } from './wall-time.ts'
