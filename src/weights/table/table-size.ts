/** @file How large tables are, by level: rows in memory, rows on a disk. */
import type { TableSize } from '../../base/event/index.ts'
import type { TierStats } from './row-tier.ts'
import type { SparseTable } from './table.ts'

type Counted = Pick<SparseTable, 'name' | 'rowCount' | 'usedBytes' | 'tier'>

export const tableSizes = (tables: readonly Counted[]): TableSize[] =>
  tables.map(({ name, rowCount, usedBytes, tier }) =>
    tier
      ? tierSize(name, tier.stats)
      : { table: name, memoryRows: rowCount, memoryBytes: usedBytes, diskRows: 0, diskBytes: 0 },
  )

export const tierSize = (table: string, { memoryRows, memoryBytes, diskRows, diskBytes }: TierStats): TableSize => ({
  table,
  memoryRows,
  memoryBytes,
  diskRows,
  diskBytes,
})
