/**
 * @file PaddlePaddle's first trainer: options, trainer_config.ts, data providers, passes, trainer and pserver as processes.
 * Knows nothing of the command line that starts them; what a trainer_config.ts is written in is part of describe.ts.
 */
export { badOptions } from './errors.ts'
export { openLogFile } from './log-file.ts'
export { TRAINER_OPTIONS, type TrainerOption, type TrainerProgram, type TypedTrainerOptions } from './option-table.ts'
export { checkTrainerOptions, fillTrainerOptions, isLocal, parseTrainerOptions } from './options.ts'
export { openPassPredictor, type PassPredictor, type PassPredictorOptions } from './predictor.ts'
export { runPserver } from './run-pserver.ts'
export { runTrainer } from './run-trainer.ts'
export { trainerRecord } from './trainer-record.ts'
