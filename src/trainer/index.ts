/** @file PaddlePaddle's first trainer: its options, trainer_config.ts, data providers, passes, and its two commands. */
export { badOptions } from './errors.ts'
export {
  denseVector,
  type InputType,
  integerValue,
  integerValueSequence,
  sparseBinaryVector,
  sparseFloatVector,
} from './input-types.ts'
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
} from './layers.ts'
export { type LogFile, openLogFile } from './log-file.ts'
export {
  PROGRAMS,
  TRAINER_OPTIONS,
  type TrainerOption,
  type TrainerOptionName,
  type TrainerOptions,
  type TrainerProgram,
  type TypedTrainerOptions,
} from './option-table.ts'
export {
  checkTrainerOptions,
  fillTrainerOptions,
  isLocal,
  type OptionProblem,
  type ParsedTrainerOptions,
  parseTrainerOptions,
} from './options.ts'
export { openPredictor, type Predictor, type PredictorOptions } from './predictor.ts'
export { CacheType, type DataProvider, type ProviderOptions, type ProviderSettings, provider } from './provider.ts'
export { type RunPserverOptions, runPserver } from './run-pserver.ts'
export { type RunTrainerOptions, runTrainer } from './run-trainer.ts'
export { defineDataSources, getConfigArg, settings, type TrainerSettings } from './settings.ts'
