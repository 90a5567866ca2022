/**
 * @file Checkpoints: manifest, saving, finding, comparing, loading.
 * Knows nothing of epochs' loops or of servers: it is given weights and where to put them.
 */
export { type Best, type EpochsFile, readEpochs, removeEpochs, writeEpochs } from './epochs-file.ts'
export { cannotWrite, inputChanged, missing } from './errors.ts'
export { type LoadOptions, loadMeter, loadSnapshot, savedRows, withoutState } from './load.ts'
export {
  type InputMark,
  type Manifest,
  markInput,
  type Position,
  type RankPlace,
  type WorkerPlace,
} from './manifest.ts'
export { runDifferences, tableStateFits } from './match.ts'
export {
  cutName,
  INTERRUPTED,
  isCheckpointName,
  newestSnapshot,
  openSnapshot,
  pruneSnapshots,
  removeCuts,
  type Snapshot,
  savedEpochs,
} from './open.ts'
export { tableProgress } from './progress.ts'
export {
  type MeterState,
  type RowSource,
  type Rows,
  refuseToLose,
  type SavedPart,
  type SaveOptions,
  type SnapshotState,
  saveParts,
  saveSnapshot,
} from './save.ts'
