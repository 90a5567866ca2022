/** @file A digest of rows, independent of arrival order: what "bit-identical" means. */
import type { Hash } from 'node:crypto'
import type { SparseTable } from './table.ts'

interface Block {
  readonly signs: BigUint64Array
  readonly rows: Uint8Array
}

/** Feeds sign and row (weight and state) of every row to `hash`, in order of sign. */
export function digestRows(blocks: readonly Block[], hash: Hash): void {
  const all = blocks.flatMap(({ signs, rows }) => {
    const rowBytes = rows.byteLength / signs.length
    return Array.from(signs, (sign, i) => ({ sign, row: rows.subarray(i * rowBytes, (i + 1) * rowBytes) }))
  })
  all.sort((a, b) => (a.sign < b.sign ? -1 : 1))
  for (const { sign, row } of all) hash.update(new Uint8Array(BigUint64Array.of(sign).buffer)).update(row)
}

/** All rows of a table, as copies. */
export function copyRows(table: SparseTable): readonly Block[] {
  return Array.from(table.scan(), ({ signs, rows }) => ({ signs: signs.slice(), rows: rows.slice() }))
}
