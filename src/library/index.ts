/**
 * @file What a program calls: train, evaluate, export, predict, serve and launch, each with one options object. Nothing is loaded before its call.
 * Knows nothing of terminals or exit codes: what happens comes as events, what is wrong is thrown.
 */
export { type ConfigOptions, type LoadConfigOptions, loadConfig } from './config.ts'
export type { WatchOptions } from './event-feed.ts'
export { type ExportOptions, type ExportResult, exportModel } from './export.ts'
export { type LaunchOptions, type LaunchResult, launch } from './launch.ts'
export { evaluateAsAsked, trainAsAsked } from './part.ts'
export {
  type ModelTypes,
  type OutputValues,
  openPredictor,
  type Prediction,
  type Predictor,
  type PredictorOptions,
  type ScoreFileOptions,
} from './predictor.ts'
export { rehearse } from './rehearse.ts'
export type { Run } from './run.ts'
export { type RunModesOptions, runModes } from './run-modes.ts'
export { type ServeOptions, type Server, serve } from './serve.ts'
export { type RunResult, STRATEGIES, sweep } from './sweep.ts'
export {
  type ComputeOptions,
  type EvaluateOptions,
  type EvaluateResult,
  evaluate,
  type TrainOptions,
  type TrainResult,
  train,
} from './train.ts'
