/**
 * @file Models for inference: planned, written, opened, and samples scored with them.
 * Knows nothing of training loops or HTTP: takes weights of this process, and columns of samples.
 */
export { noInput } from './errors.ts'
export { type Field, fieldsOf, rawColumns } from './fields.ts'
export { type ExportManifest, type ExportSlot, type FileMark, hexOf, MANIFEST } from './manifest.ts'
export {
  type FoundExport,
  findExport,
  INFERENCE_FOLDER,
  type LoadedExport,
  locateExport,
  openExport,
  readChecked,
  readExport,
} from './open.ts'
export { type ExportPlan, planExport, planOutputs } from './plan.ts'
export { PREDICT_FORMATS, predict, scoreText, type TextOptions } from './predict.ts'
export { denseWeights, findSign, guessSigns, indexSigns, placeSign, type SignIndex } from './rows.ts'
export { type Instance, openTrainerGraph, type TrainerGraph, trainerOutputs } from './samples.ts'
export { outputRows, type Scored, Scorer, scoresOf, shortNumber } from './scorer.ts'
export type { TableLayer, TableMemory } from './table-file.ts'
export { refuseToReplace, writeExport } from './write.ts'
