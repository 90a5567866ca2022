/**
 * @file Published versions of a model that goes on training: a base, deltas in order, the log that names them, their replay and check.
 * Knows nothing of training loops or HTTP: it is given rows and folders.
 */
export { type StoredRows, takeChanges } from './changes.ts'
export { type Delta, type DeltaManifest, readDelta, writeDelta } from './delta.ts'
export type { RowForm, TableChanges } from './delta-table.ts'
export { type DenseWeights, readDense, writeDense } from './dense.ts'
export { brokenChain, notPublished } from './errors.ts'
export { type ExpectedDelta, layerRows, withDelta } from './layers.ts'
export {
  chainOf,
  chosenVersion,
  parseVersions,
  VERSIONS_FILE,
  type Version,
  versionId,
  versionLine,
  versionName,
} from './log.ts'
export { type Projection, projection, type StoredTable } from './project.ts'
export { PublishedRows, type TableRows } from './published-rows.ts'
export { applyChanges, type Replayed, replay, replaySteps } from './replay.ts'
export { openVersions, type VersionSource } from './source.ts'
export { lastOfBases, logProblems, type VersionProblem, verifyVersions } from './verify.ts'
