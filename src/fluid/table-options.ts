/** @file What a table was declared with. */
import type { EntryPolicy, Initializer } from '../program/index.ts'

export const TABLE_CLASSES = ['CommonSparseTable', 'SSDSparseTable', 'MemorySparseTable'] as const
export type TableClass = (typeof TABLE_CLASSES)[number]

export interface TableOptions {
  /** Rows it was declared with; a table takes any number. */
  readonly rows: number
  readonly dim: number
  readonly init: Initializer
  readonly l2?: number
  readonly learningRate?: number
  /** Which signs get a row, and where show and click come from. */
  readonly entry?: EntryPolicy
}

/** What every lookup of a table says about it. */
export function tableSpec({ init, entry }: TableOptions): Pick<TableOptions, 'init' | 'entry'> {
  return { init, ...(entry && { entry }) }
}
