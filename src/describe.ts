/**
 * @file What models, readers and configurations are written in: the half of the public API that every thread loads which runs a user's
 * file. It names files instead of folders, so that such a thread loads what these files need and no trainer or server beside it.
 */
export { z } from 'zod'
export {
  type Field,
  type FieldValue,
  MultiSlotDataGenerator,
  MultiSlotStringDataGenerator,
} from './data/data-generator.ts'
export { InMemoryDataset, type InMemoryDatasetOptions } from './data/in-memory-dataset.ts'
export { getRank, getWorldSize } from './data/ranks.ts'
export { readLines } from './data/read-lines.ts'
export { BaseRecDataset, type RecDataset, type Sample } from './data/rec-dataset.ts'
export type {
  DygraphModel,
  Feeds,
  ModelOptimizer,
  ModelV1,
  NetOutput,
  SlotInputs,
  StaticModel,
} from './model/contract.ts'
export { type Metric, type MetricReport, metric } from './model/metrics.ts'
export * as nn from './nn/index.ts'
export { type Clip, type OptimizerSpec, optimizer, type Schedule } from './optim/index.ts'
export * from './program/index.ts'
export { countFilterEntry, probabilityEntry, showClickEntry } from './table/entry.ts'
export {
  denseVector,
  type InputType,
  integerValue,
  integerValueSequence,
  sparseBinaryVector,
  sparseFloatVector,
} from './trainer/input-types.ts'
export {
  addtoLayer,
  classificationCost,
  concatLayer,
  cosSim,
  dataLayer,
  embeddingLayer,
  fcLayer,
  type LayerOutput,
  outputs,
  poolingLayer,
  regressionCost,
  textConvPool,
} from './trainer/layers.ts'
export { CacheType, type DataProvider, provider } from './trainer/provider.ts'
export { defineDataSources, getConfigArg, settings, type TrainerSettings } from './trainer/settings.ts'
export { createRng, hashText, type Rng } from './util/index.ts'
