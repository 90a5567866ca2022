/**
 * @file Rows of a table on a disk: sorted runs, found by one direct read a row.
 * Knows signs and bytes of rows, not what they mean, nor who keeps which rows in memory.
 */
export * from './cold-store.ts'
export type { MergedRows } from './merge.ts'
export { pageBytesOf, type RunKind } from './run-format.ts'
