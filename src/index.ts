/** @file The public API: what a user's files import from 'oarfish'. This half runs jobs. */
import { Fleet } from './fleet/index.ts'

export { type JobConfig, type LoadedConfig, type LoadedRunConfig, loadConfig, loadRunConfig } from './config/index.ts'
export * from './describe.ts'
export type { Event, EventSink } from './event/index.ts'
export {
  type ASyncConfigs,
  communicatorFlags,
  type DistributedOptimizer,
  DistributedStrategy,
  Fleet,
  PaddleCloudRoleMaker,
  Role,
  type RoleMaker,
  type Strategy,
  StrategyFactory,
  type TrainerStrategy,
  UserDefinedRoleMaker,
} from './fleet/index.ts'
export * as fluid from './fluid/index.ts'
export { type RunOptions, type RunResult, runModes } from './run/index.ts'
export {
  type InferOptions,
  type InferResult,
  infer,
  type TrainOptions,
  type TrainResult,
  train,
} from './train/index.ts'
export { openPredictor, type Predictor } from './trainer/index.ts'

/** The job that this process belongs to, as Paddle's `fleet`. */
export const fleet: Fleet = new Fleet()
