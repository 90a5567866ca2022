/**
 * @file Recall: vectors of users and items out of a trained model, folders of them, and an index that finds the nearest.
 * Knows nothing of training loops or HTTP: takes weights of this process, exports, and columns of samples.
 */
export { type WriteIndexOptions, writeIndex } from './build.ts'
export { computeItems, computeUsers, lastSigns, modelMark, planVectors, signsOf, type Vectors } from './compute.ts'
export { badItem, itemsAlone, noVectors } from './errors.ts'
export { findIndex, type LoadedIndex, locateIndex, openIndex, readIndex, refuseOther } from './open.ts'
export { foundText, type RecallOptions, recall } from './recall.ts'
export { type Found, leftOut, Searcher, type SearchOptions, unknownSlots } from './search.ts'
export {
  INDEX_KINDS,
  type IndexManifest,
  readVectors,
  VECTOR_KINDS,
  type VectorsManifest,
  writeVectors,
} from './vectors.ts'
