/** @file The public face of fleet/. */
export { A_SYNC_CONFIGS, type ASyncConfigs } from './a-sync-configs.ts'
export { ConnectedWorker, type WorkerJob } from './connected-worker.ts'
export { DistributedStrategy, type DistributedStrategyOptions } from './distributed-strategy.ts'
export { type DistributedOptimizer, Fleet, type FleetInitOptions, type FleetOptions } from './fleet.ts'
export { fleetIdentity } from './identity.ts'
export {
  PaddleCloudRoleMaker,
  type PaddleCloudRoleMakerOptions,
  Role,
  type RoleMaker,
  UserDefinedRoleMaker,
  type UserDefinedRoleMakerOptions,
} from './role-maker.ts'
export { type SaveInferenceModelOptions, type SavePersistablesOptions, together } from './saving.ts'
export { estimatedBytes, type Strategy, settleStrategy } from './settle-strategy.ts'
export {
  communicatorFlags,
  StrategyFactory,
  type TrainerStrategy,
  type TranspilerModes,
  transpilerPlan,
} from './trainer-strategy.ts'
export type {
  Distributable,
  FleetProgram,
  FleetRegistry,
  FleetRuntime,
  FleetWorker,
  InferenceToWrite,
  TrainingProgram,
} from './training-program.ts'
export type { CommWorld, Numbers, Reduction } from './util.ts'
