/**
 * @file Checkpoints: manifest, saving, finding, comparing, loading.
 * Knows nothing of epochs' loops or of servers: it is given weights and where to put them.
 */
export { type Chain, chainOf, foldersOf, isLong } from './chain.ts'
export { type Best, type EpochsFile, readEpochs, removeEpochs, writeEpochs } from './epochs-file.ts'
export { cannotWrite, inputChanged, missing, otherRun } from './errors.ts'
export { type LoadOptions, loadMeter, loadSnapshot, savedRows, withoutState } from './load.ts'
export {
  type InputMark,
  type Manifest,
  markInput,
  type Position,
  place,
  type RankPlace,
  savedPart,
  type WorkerPlace,
} from './manifest.ts'
export { runDifferences, tableStateFits } from './match.ts'
export {
  checkBytes,
  cutName,
  cutOfChainBefore,
  hasSnapshotOf,
  INTERRUPTED,
  isCheckpointName,
  newestFence,
  newestSnapshots,
  openSnapshot,
  pruneSnapshots,
  removeBegunCuts,
  removeCuts,
  type Snapshot,
  savedEpochs,
} from './open.ts'
export {
  type BegunParts,
  beginParts,
  type OwnParts,
  type Rows,
  type SavedPart,
  type SaveRows,
  saveError,
  savePart,
  saveParts,
} from './parts.ts'
export { tableProgress } from './progress.ts'
export {
  type MeterState,
  refuseToLose,
  type Saved,
  type SaveOptions,
  type SnapshotState,
  saveSnapshot,
  writeSnapshot,
} from './save.ts'
