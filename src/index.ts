/** @file `oarfish`, the root of the public API: what models and readers are written in, and the calls that run them. */
export {
  ConfigError,
  type JobConfig,
  type LoadedConfig,
  type LoadedRunConfig,
  loadRunConfig,
  type Settings,
} from './base/config/index.ts'
export type { Event, EventSink, Metrics } from './base/event/index.ts'
export * from './describe.ts'
export type { ExportManifest, ExportSlot } from './inference/export/index.ts'
export type { ServingOptions } from './inference/serve/index.ts'
export {
  type ComputeOptions,
  type ConfigOptions,
  type EvaluateOptions,
  type EvaluateResult,
  type ExportOptions,
  type ExportResult,
  evaluate,
  exportModel,
  type LaunchOptions,
  type LaunchResult,
  type LoadConfigOptions,
  launch,
  loadConfig,
  type ModelTypes,
  type OutputValues,
  openPredictor,
  type Prediction,
  type Predictor,
  type PredictorOptions,
  type Run,
  type RunModesOptions,
  runModes,
  type ScoreFileOptions,
  type ServeOptions,
  type Server,
  serve,
  type TrainOptions,
  type TrainResult,
  train,
  type WatchOptions,
} from './library/index.ts'
