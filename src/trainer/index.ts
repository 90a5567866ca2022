/** @file PaddlePaddle's first trainer: its options, passes, and its two commands. What a trainer_config.ts is written in is part of describe.ts. */
export { badOptions } from './errors.ts'
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
export { type RunPserverOptions, runPserver } from './run-pserver.ts'
export { type RunTrainerOptions, runTrainer } from './run-trainer.ts'
