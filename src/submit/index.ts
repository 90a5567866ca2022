/** @file The public face of submit/: jobs and where they run. */

export {
  type Credentials,
  findCredentials,
  hasCredentials,
  profileOf,
  reference,
  referred,
  saveCredentials,
} from './credentials.ts'
export * from './job.ts'
export { maskOf } from './mask.ts'
export { clusterRunners, type Prepared, type PrepareOptions, prepare } from './prepare.ts'
export { describePlan, type SubmitContext, submit } from './submit.ts'
