/** @file PaddleRec 1.x's config.yaml and backend.yaml. */

export {
  type Backend,
  type LoadedBackend,
  loadBackend,
  parseBackend,
  withoutSecrets,
  withSecretsOf,
} from './backend.ts'
export { checkSubmission, JOB_KINDS, type JobKind, problemAt } from './backend-check.ts'
export {
  type BackendName,
  POD_FRAMEWORKS,
  type PodFramework,
  PRIORITIES,
  PRIORITY_ORDER,
  type Priority,
} from './backend-schema.ts'
export { checkRun, problemIn, readsSlots, selectedRunners } from './files.ts'
export { type PhaseJob, phaseJob } from './job.ts'
export { flattenRunConfig, isRunConfigFile, type LoadedRunConfig, loadRunConfig, parseRunConfig } from './load.ts'
export { type NodeV1, nodeEnv, nodeFromEnv } from './node.ts'
export { type PhaseV1, phasesOf, type RunConfig, type RunnerV1 } from './resolve.ts'
export { GROUPS_V1 } from './schema.ts'
export { checkSlotsV1 } from './slots.ts'
