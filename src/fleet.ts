/** @file `oarfish/fleet`: the Fleet API, for programs that are processes of a job and save together. */
import { Fleet } from './paddle/fleet/index.ts'

export {
  type ASyncConfigs,
  type CommWorld,
  communicatorFlags,
  type DistributedOptimizer,
  DistributedStrategy,
  type DistributedStrategyOptions,
  Fleet,
  type FleetInitOptions,
  PaddleCloudRoleMaker,
  type PaddleCloudRoleMakerOptions,
  Role,
  type RoleMaker,
  type SaveInferenceModelOptions,
  type SavePersistablesOptions,
  type Strategy,
  StrategyFactory,
  type TrainerStrategy,
  UserDefinedRoleMaker,
  type UserDefinedRoleMakerOptions,
} from './paddle/fleet/index.ts'

/** The job that this process belongs to, as Paddle's `fleet`. */
export const fleet: Fleet = new Fleet()
