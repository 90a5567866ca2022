/**
 * @file Recall: folders of vectors, and an index of items that finds the nearest of a user.
 * Knows nothing of models, training or HTTP: takes vectors, exports, and columns of samples.
 */
export { type WriteIndexOptions, writeIndex } from './build.ts'
export { badItem, emptyItems, itemsAlone, itemsNeeded, noVectors, repeatedItem } from './errors.ts'
export { findIndex, type LoadedIndex, locateIndex, openIndex, readIndex, refuseOther } from './open.ts'
export { foundText, type RecallOptions, recall } from './recall.ts'
export { type Found, leftOut, Searcher, type SearchOptions, unknownSlots } from './search.ts'
export { lastSigns } from './signs.ts'
export {
  INDEX_KINDS,
  type IndexManifest,
  type ModelMark,
  readVectors,
  VECTOR_KINDS,
  type Vectors,
  type VectorsManifest,
  writeVectors,
} from './vectors.ts'
