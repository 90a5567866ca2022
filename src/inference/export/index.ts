/**
 * @file Models for inference: planned, written, opened, and samples scored with them.
 * Knows nothing of training loops or HTTP: takes weights of this process, and columns of samples.
 */
export { type Field, fieldsOf, rawColumns } from './fields.ts'
export type { ExportManifest, ExportSlot } from './manifest.ts'
export {
  type FoundExport,
  findExport,
  INFERENCE_FOLDER,
  type LoadedExport,
  locateExport,
  openExport,
  readExport,
} from './open.ts'
export { type ExportPlan, planExport } from './plan.ts'
export { PREDICT_FORMATS, predict, scoreText } from './predict.ts'
export { columnsOf, type Instance, trainerOutputs } from './samples.ts'
export { outputRows, type Scored, Scorer, scoresOf, shortNumber } from './scorer.ts'
export { refuseToReplace, writeExport } from './write.ts'
