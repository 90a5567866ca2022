/** @file PaddleRec 1.x's config.yaml and backend.yaml. */
export { checkSlotsV1, type DeclaredSlot } from './agree.ts'
export { type Backend, type LoadedBackend, loadBackend, parseBackend } from './backend.ts'
export { checkSubmission, JOB_KINDS, type JobKind, type Submission } from './backend-check.ts'
export {
  BACKEND_GROUPS,
  type BackendName,
  type ClusterType,
  POD_FRAMEWORKS,
  type PodFramework,
  PRIORITIES,
  PRIORITY_ORDER,
  type Priority,
} from './backend-schema.ts'
export { withoutSecrets, withSecretsOf } from './backend-secrets.ts'
export { checkRun, readsSlots, selectedRunners } from './files.ts'
export { flattenRunConfig } from './flatten.ts'
export { type PhaseJob, phaseJob } from './job.ts'
export { type LoadedRunConfig, type LoadRunConfigOptions, loadRunConfig, parseRunConfig } from './load.ts'
export { type NodeV1, nodeEnv, nodeFromEnv } from './node.ts'
export { type DatasetV1, type PhaseV1, phasesOf, type RunConfig, type RunnerV1 } from './resolve.ts'
export { GROUPS_V1, RUNNER_CLASSES, type RunnerClass } from './schema.ts'
export type { DenseSlotV1, SlotsV1 } from './slots.ts'
