/**
 * @file The Fleet API: roles, strategies, servers and workers of a user's program, saving together.
 * Names are Paddle's; knows nothing of config.yaml's runners.
 */
export { A_SYNC_CONFIGS, type ASyncConfigs } from './a-sync-configs.ts'
export { ConnectedWorker } from './connected-worker.ts'
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
export type { Strategy } from './settle-strategy.ts'
export {
  communicatorFlags,
  DistributedStrategy,
  type DistributedStrategyOptions,
  StrategyFactory,
  type TrainerStrategy,
} from './strategy.ts'
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
