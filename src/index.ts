/** @file The public API: what a model, a reader or a program of a user imports from 'oarfish'. */
import { Fleet } from './fleet/index.ts'

export { z } from 'zod'
export { type JobConfig, type LoadedConfig, type LoadedRunConfig, loadConfig, loadRunConfig } from './config/index.ts'
export {
  BaseRecDataset,
  type Field,
  type FieldValue,
  getRank,
  getWorldSize,
  InMemoryDataset,
  type InMemoryDatasetOptions,
  MultiSlotDataGenerator,
  MultiSlotStringDataGenerator,
  type RecDataset,
  readLines,
  type Sample,
} from './data/index.ts'
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
export {
  type DygraphModel,
  type Feeds,
  type Metric,
  type MetricReport,
  type ModelOptimizer,
  type ModelV1,
  metric,
  type NetOutput,
  type SlotInputs,
  type StaticModel,
} from './model/index.ts'
export * as nn from './nn/index.ts'
export { type Clip, type OptimizerSpec, optimizer, type Schedule } from './optim/index.ts'
export * from './program/index.ts'
export { type RunOptions, type RunResult, runModes } from './run/index.ts'
export { countFilterEntry, probabilityEntry, showClickEntry } from './table/index.ts'
export {
  type InferOptions,
  type InferResult,
  infer,
  type TrainOptions,
  type TrainResult,
  train,
} from './train/index.ts'

export {
  addtoLayer,
  CacheType,
  classificationCost,
  concatLayer,
  cosSim,
  type DataProvider,
  dataLayer,
  defineDataSources,
  denseVector,
  embeddingLayer,
  fcLayer,
  getConfigArg,
  type InputType,
  integerValue,
  integerValueSequence,
  type LayerOutput,
  openPredictor,
  outputs,
  type Predictor,
  poolingLayer,
  provider,
  regressionCost,
  settings,
  sparseBinaryVector,
  sparseFloatVector,
  type TrainerSettings,
  textConvPool,
} from './trainer/index.ts'

/** The job that this process belongs to, as Paddle's `fleet`. */
export const fleet: Fleet = new Fleet()
export { createRng, hashText, type Rng } from './util/index.ts'
