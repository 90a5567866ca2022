/** @file The public face of export/: models for inference written, opened and scored. */
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
export { type ExportNames, type ExportPlan, planExport } from './plan.ts'
export { PREDICT_FORMATS, type PredictOptions, predict } from './predict.ts'
export { columnsOf, type Instance } from './samples.ts'
export { outputRows, type Scored, Scorer, shortNumber } from './scorer.ts'
export { refuseToReplace, type WriteExportOptions, writeExport } from './write.ts'
