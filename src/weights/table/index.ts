/**
 * @file Sparse tables on shared memory: rows by sign, placement, accessors, entry policies, text files.
 * Knows nothing of models or of who pulls and pushes.
 */
export * from './accessor-config.ts'
export * from './accessor-row.ts'
export * from './digest.ts'
export * from './entry.ts'
export * from './exchanged-table.ts'
export * from './placement.ts'
export type { RowTier, TierOptions, TierStats } from './row-tier.ts'
export { type DistinctRoom, makeDistinct, planDistinct, SignMerger } from './sign-merger.ts'
export * from './table.ts'
export { tableSizes, tierSize } from './table-size.ts'
export { noTable, tableFolder } from './text-errors.ts'
export { type LoadTextOptions, loadTableText, readLines, shardFiles } from './text-load.ts'
export { FLOAT_BYTES, LineParser, writeFloat } from './text-number.ts'
export { PADDLE_RULES } from './text-rows.ts'
export { type SaveTextOptions, type ShardRange, saveTableText } from './text-save.ts'
