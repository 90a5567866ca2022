/** @file The public face of train/. */
export { checkData } from './check-data.ts'
export { shown } from './checkpoint.ts'
export { type ConvertOptions, convertModel, MODEL_FORMS, type ModelForm, writePaddlePlugin } from './convert.ts'
export { HostStep, type HostStepOptions, type StepResult } from './host-step.ts'
export { type FindModels, type InferOptions, type InferResult, infer, optimizersOf, type SavedModel } from './infer.ts'
export { type InferWorkerOptions, inferWorker } from './infer-worker.ts'
export {
  type ExportCheckpointOptions,
  type ExportParamsOptions,
  exportCheckpoint,
  exportParams,
} from './inference-model.ts'
export type { PassResult } from './loop.ts'
export { ENGINES, type EngineName } from './messages.ts'
export { offlineInfer } from './offline-infer.ts'
export { type TrainRanksOptions, trainRanks } from './parallel/train-ranks.ts'
export { writeProgramFiles } from './program-files.ts'
export { createParams, type DataFiles, findDataFiles, Runtime, type RuntimeOptions } from './runtime.ts'
export { type ShownSlots, shownTables } from './shown.ts'
export { mergeMeters, type PlainMeter, plainMeter } from './together.ts'
export { type TrainOptions, type TrainResult, train } from './train.ts'
export { type TrainWorkerOptions, trainWorker } from './train-worker.ts'
export type { StepReport } from './trainer-pool.ts'
export { type FileReport, firstDifference, reports as fileReports } from './worker-input.ts'
export { openWorkerMode, type WorkerMode } from './worker-mode.ts'
export type { JobCheckpoints } from './worker-model.ts'
export { type ChunksRead, checkSplit } from './worker-split.ts'
