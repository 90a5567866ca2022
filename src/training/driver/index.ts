/**
 * @file The one training loop, its evaluation, and the ways to take part in a job: alone, with servers, among ranks; checkpoints of a run.
 * Knows neither the command line nor how processes were started.
 */

export { alone } from './alone.ts'
export { amongRanks, evaluateAmongRanks } from './among-ranks.ts'
export { optimizersOf, type WholeModel } from './checkpoint.ts'
export { type ConvertOptions, convertModel, MODEL_FORMS, type ModelForm, writePaddlePlugin } from './convert.ts'
export { type DiffOptions, type DiffResult, diff } from './diff.ts'
export { resumeFrom } from './find-start.ts'
export { readFileReports, readNothing, readOutcome, readReport } from './gathered.ts'
export { rankOf } from './history.ts'
export { type Importance, importance, type SlotImportance } from './importance.ts'
export { type FindModels, type InferOptions, type InferResult, infer, offlineInfer } from './infer.ts'
export {
  type ExportCheckpointOptions,
  type ExportParamsOptions,
  exportCheckpoint,
  exportParams,
  firstSamples,
} from './inference-model.ts'
export type {
  Agree,
  EpochSchedule,
  ReadDense,
  SavedModel,
  TrainingContext,
  TrainingJob,
  TrainingRules,
  TrainingStart,
} from './job.ts'
export type { JobCheckpoints } from './job-checkpoints.ts'
export { keepPort } from './keep-port.ts'
export { overPasses, type PassesOptions } from './over-passes.ts'
export { checkSplit, PassRecord, sumReports } from './pass-report.ts'
export { forecastTables, forecastText, type TableForecast } from './table-forecast.ts'
export { loadPaddleTables, localTableWork, type TableWork } from './table-work.ts'
export { type TrainOptions, type TrainResult, train } from './train.ts'
export { type BuildIndexOptions, buildIndex, type ExportVectorsOptions, exportVectors } from './vectors.ts'
export { evaluateWithServers, withServers } from './with-servers.ts'
export { type FileReport, fileReports, firstDifference } from './worker-input.ts'
export { openWorkerMode, type WorkerMode } from './worker-mode.ts'
export { byFirst } from './worker-model.ts'
