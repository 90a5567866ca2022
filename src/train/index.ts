/** @file The public face of train/. */
export { checkData } from './check-data.ts'
export { type InferOptions, type InferResult, infer } from './infer.ts'
export { type ExportCheckpointOptions, exportCheckpoint } from './inference-model.ts'
export { ENGINES, type EngineName } from './messages.ts'
export { findDataFiles } from './runtime.ts'
export { type TrainOptions, type TrainResult, train } from './train.ts'
export { type TrainWorkerOptions, trainWorker } from './train-worker.ts'
