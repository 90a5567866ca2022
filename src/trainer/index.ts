/** @file PaddlePaddle's first trainer: its options, trainer_config.ts, data providers, passes, and its two commands. */
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
