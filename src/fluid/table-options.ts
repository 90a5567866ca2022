/** @file What a table was declared with. */
import type { Initializer } from '../program/index.ts'

export const TABLE_CLASSES = ['CommonSparseTable', 'SSDSparseTable', 'MemorySparseTable'] as const
export type TableClass = (typeof TABLE_CLASSES)[number]

export interface TableOptions {
  /** Rows it was declared with; a table takes any number. */
  readonly rows: number
  readonly dim: number
  readonly init: Initializer
  readonly l2?: number
  readonly learningRate?: number
  /** Which signs get a row: `count_filter_entry:10`. */
  readonly entry?: string
  readonly tableClass?: TableClass
}
