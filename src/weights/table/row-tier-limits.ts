/** @file How a memory limit is shared out between rows, filters and buffers, and what is said when it is too small. */
import type { RowLayout } from '../../base/kernel/index.ts'
import { sizeText, UserError } from '../../base/util/index.ts'
import { pageBytesOf } from '../tier/index.ts'

/** Rows written to the disk at once: more make longer pauses, fewer more runs. */
const [FEWEST, MOST] = [256, 65_536]
/** Of pages being read and written, and of what a search needs. */
const BUFFER_BYTES = 5 * 1024 * 1024
/** Pages read at once: all that a batch misses, where the limit lets them. */
const [FEWEST_PAGES, MOST_PAGES] = [512, 2048]

export interface Shares {
  /** Rows, their index and the scratch of threads. */
  readonly tableBytes: number
  readonly filterBytes: number
  readonly flushRows: number
  readonly readPages: number
}

export function sharesOf(limitBytes: number, rowBytes: number, hasDisk: boolean): Shares {
  if (!hasDisk) return { tableBytes: limitBytes, filterBytes: 0, flushRows: FEWEST, readPages: 0 }
  // Of a row that leaves there are two copies for a moment, one of them with what sorting needs.
  const leavingBytes = 2 * rowBytes + 64
  const flushRows = Math.max(FEWEST, Math.min(MOST, Math.floor(limitBytes / 16 / leavingBytes)))
  const filterBytes = Math.floor(limitBytes / 10)
  const pageBytes = pageBytesOf(rowBytes)
  const readPages = Math.max(FEWEST_PAGES, Math.min(MOST_PAGES, Math.floor(limitBytes / 64 / pageBytes)))
  const bufferBytes = BUFFER_BYTES + (readPages - FEWEST_PAGES) * pageBytes
  const tableBytes = limitBytes - filterBytes - bufferBytes - flushRows * leavingBytes
  return { tableBytes, filterBytes, flushRows, readPages }
}

/** What an index takes a row at worst: just after all of its pages have split. */
export const INDEX_BYTES = 44

export interface MemoryInUse extends Pick<Shares, 'tableBytes' | 'filterBytes'> {
  readonly rowBytes: number
  /** The most rows there have been, and the bytes that the table has taken for them. */
  readonly most: number
  readonly used: number
  /** Of the filters and fences of rows on the disk. */
  readonly indexBytes: number
}

/** How many rows may be in memory. Filters and fences of very many rows take more than their share: fewer rows stay then. */
export function rowCapacity({ rowBytes, most, used, indexBytes, filterBytes, ...shares }: MemoryInUse): number {
  const tableBytes = shares.tableBytes - Math.max(0, indexBytes - filterBytes)
  const free = 0.98 * tableBytes - used
  if (free > 0) return most + Math.floor(free / (rowBytes + INDEX_BYTES))
  return Math.floor(most * Math.max(0, Math.min(1, tableBytes / used)))
}

/** What makes rows of two tables, or of two runs of one, the same kind. */
export function layoutText({ dim, rule, seed, init, precision, accessor }: RowLayout): string {
  return JSON.stringify({ dim, rule, seed: String(seed), init, precision, accessor })
}

export function limitTooSmall(table: string, limitBytes: number, lackingBytes: number): UserError {
  const needed = Math.ceil((1.05 * (limitBytes + lackingBytes)) / 1e6)
  return new UserError(
    `table ${table}: the rows of one batch do not fit into its memory_limit of ${sizeText(limitBytes)}; ${needed} MB are needed.`,
    {
      code: 'TABLE_MEMORY_LIMIT',
      hint: `set table_parameters.${table}.memory_limit to ${needed}MB or more, or make runner.train_batch_size smaller`,
    },
  )
}
