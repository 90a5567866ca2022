/** @file The public face of snapshot/: checkpoints saved, found, compared and loaded. */
export { cannotWrite, inputChanged, missing } from './errors.ts'
export { markInput } from './input.ts'
export { type LoadOptions, loadMeter, loadSnapshot, savedRows } from './load.ts'
export type { InputMark, Manifest, Position, RankPlace } from './manifest.ts'
export { runDifferences, tableStateFits } from './match.ts'
export { INTERRUPTED, newestSnapshot, openSnapshot, type Snapshot, savedEpochs } from './open.ts'
export { tableProgress } from './progress.ts'
export { pruneSnapshots } from './prune.ts'
export {
  type MeterState,
  type RowSource,
  type Rows,
  type SavedPart,
  type SaveOptions,
  type SnapshotState,
  saveParts,
  saveSnapshot,
} from './save.ts'
export { withoutState } from './weights-only.ts'
