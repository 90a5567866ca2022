/**
 * @file From files to batches. On this level the way of every sample (plan, pool, threads, batcher); in folders what differs by input.
 * Knows nothing of models or training: slots are named by the caller.
 */
export { type Batch, batchOf, type Columns, type ParsedChunk, type Piece, releaseBatch, type Slot } from './batch.ts'
export { batchColumns, joinColumns, sliceColumns } from './columns.ts'
export { baseSlots, textSlots } from './features/columns.ts'
export { rawName } from './features/encode.ts'
export type { Feature, LogFeature } from './features/feature.ts'
export { listDataFiles, listDataTree, measureFiles } from './files.ts'
export { type CriteoLikeResult, generateCriteoLike } from './generate/criteo-like.ts'
export { type DemoDaysResult, generateDemoDays } from './generate/demo-days.ts'
export { createHiddenModel, exactAuc } from './generate/hidden-model.ts'
export { createLongTail } from './generate/long-tail.ts'
export { GENERATED_FORMATS, type GeneratedFormat } from './generate/row-format.ts'
export { InMemoryDataset } from './memory/in-memory-dataset.ts'
export { openMemoryPool } from './memory/memory-pool.ts'
export type { Exchange } from './memory/shuffles.ts'
export type { UserReaderOptions } from './messages.ts'
export { pipeCommand } from './pipes/pipe-command.ts'
export { blockOf, countPieces, type InputKind, type Part } from './plan.ts'
export { prepareAliCcp } from './published/ali-ccp.ts'
export { prepareAlimama } from './published/alimama.ts'
export { prepareAvazu } from './published/avazu.ts'
export { prepareCensus } from './published/census.ts'
export { prepareCriteo } from './published/criteo.ts'
export { prepareMovielens } from './published/movielens.ts'
export type { RawDataOptions, RawDataResult } from './published/raw.ts'
export { prepareSequences } from './published/sequences.ts'
export { readsFileByFile } from './python/reader-shape.ts'
export { type RawRecord, readRawRecords } from './raw-records.ts'
export type { BatchReader, ReadOptions } from './reader.ts'
export {
  allowNoFiles,
  inputKind,
  openReader,
  openReaderPool,
  type ReaderOptions,
  type ReaderPool,
  type ReaderPoolOptions,
} from './reader-pool.ts'
export { compareSlots, type Disagreement, refuseStrangers } from './text/compare-slots.ts'
export { detectFormat, formatOf, headOf, looksLike, namedAsData, readHead } from './text/head.ts'
export { linesOf, wholeLines } from './text/long-line.ts'
export { createTextBlockParser } from './text/text-block.ts'
export { createColumnWriter } from './user/column-writer.ts'
export {
  type Field,
  type FieldValue,
  type GeneratorIo,
  MultiSlotDataGenerator,
  MultiSlotStringDataGenerator,
  stdinLines,
  writeStdout,
} from './user/data-generator.ts'
export { getRank, getWorldSize, rankAsked, setRank } from './user/ranks.ts'
export {
  BaseRecDataset,
  type ReaderPass,
  type RecDataset,
  type RecDatasetClass,
  readLines,
  type Sample,
  type SampleValue,
} from './user/rec-dataset.ts'
export { createUserSource } from './user/user-source.ts'
