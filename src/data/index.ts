/** @file The public face of data/: from files to batches. */

export { namedAsData } from './aliases.ts'
export * from './batch.ts'
export type { ColumnSpec, ColumnsByName, ColumnsOptions } from './column-spec.ts'
export { type ColumnWriter, createColumnWriter } from './column-writer.ts'
export { batchColumns, joinColumns, sliceColumns } from './columns.ts'
export { compareSlots, type Disagreement } from './compare-slots.ts'
export {
  type Field,
  type FieldValue,
  type GeneratorIo,
  MultiSlotDataGenerator,
  MultiSlotStringDataGenerator,
} from './data-generator.ts'
export { detectFormat } from './detect.ts'
export type { Exchange } from './exchange.ts'
export { listDataFiles, listDataTree, measureFiles } from './files.ts'
export { type CriteoLikeOptions, type CriteoLikeResult, generateCriteoLike } from './generate/criteo-like.ts'
export { GENERATED_FORMATS, type GeneratedFormat } from './generate/row-format.ts'
export { type DataHead, readHead } from './head.ts'
export { type BatchesOptions, InMemoryDataset, type InMemoryDatasetOptions } from './in-memory-dataset.ts'
export { releaseBatch } from './lease.ts'
export { type MemoryPoolOptions, openMemoryPool } from './memory-pool.ts'
export type { UserReaderOptions } from './messages.ts'
export type { Columns } from './pack.ts'
export type { PipeOptions } from './pipe.ts'
export { type PipeCommandOptions, pipeCommand } from './pipe-command.ts'
export { blockOf, countPieces, type InputKind, type Part } from './plan.ts'
export { getRank, getWorldSize, rankAsked, tellRank } from './ranks.ts'
export { readLines } from './read-lines.ts'
export type { BatchReader, ReadOptions } from './reader.ts'
export {
  allowNoFiles,
  openReader,
  openReaderPool,
  type ReaderOptions,
  type ReaderPool,
  type ReaderPoolOptions,
} from './reader-pool.ts'
export { BaseRecDataset, type RecDataset, type RecDatasetClass, type Sample, type SampleValue } from './rec-dataset.ts'
export { stdinLines, writeStdout } from './standard-io.ts'
export { createTextBlockParser, formatOf, type TextBlock, type TextBlockParser } from './text-block.ts'
