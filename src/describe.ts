/**
 * @file What models, readers and configurations are written in: the half of the public API that every thread loads which runs a user's
 * file. It names files instead of folders, so that such a thread loads what these files need and no trainer or server beside it.
 */
export { z } from 'zod'
export { createRng, hashText, type Rng, UserError } from './base/util/index.ts'
export { InMemoryDataset, type InMemoryDatasetOptions } from './data/memory/in-memory-dataset.ts'
export { type BucketOptions, bucketedByLength, shuffled } from './data/user/buckets.ts'
export {
  type Field,
  type FieldValue,
  MultiSlotDataGenerator,
  MultiSlotStringDataGenerator,
} from './data/user/data-generator.ts'
export { getRank, getWorldSize } from './data/user/ranks.ts'
export {
  BaseRecDataset,
  type ReaderPass,
  type RecDataset,
  readLines,
  type Sample,
  type SampleValue,
} from './data/user/rec-dataset.ts'
export type {
  DenseOptions,
  DygraphModel,
  Feeds,
  ModelOptimizer,
  ModelV1,
  ModelVectors,
  NetOutput,
  SlotInputs,
  StaticModel,
} from './model/contract.ts'
export {
  defineModel,
  type HyperParameters,
  type HyperValues,
  type ModelDefinition,
  type ModelFields,
  type NetResult,
  type RunnerSettings,
  type RunSettings,
} from './model/define.ts'
export { type Metric, type MetricReport, metric } from './model/metrics.ts'
export { optimizerKeys } from './model/optimizer-keys.ts'
export { type Clip, type OptimizerSpec, optimizer, type Schedule } from './weights/optim/index.ts'
export { countFilterEntry, probabilityEntry, showClickEntry } from './weights/table/entry.ts'
