/** @file A digest of a table's whole content, independent of arrival order: what "bit-identical" means. */
import type { Hash } from 'node:crypto'
import type { SparseTable } from './table.ts'

/** Feeds sign and row (weight and state) of every row to `hash`, in order of sign. */
export function digestTable(table: SparseTable, hash: Hash): void {
  const rows: { sign: bigint; row: Uint8Array }[] = []
  for (const { signs, rows: bytes, rowBytes } of table.scan()) {
    for (let i = 0; i < signs.length; i++)
      rows.push({ sign: signs[i]!, row: bytes.slice(i * rowBytes, (i + 1) * rowBytes) })
  }
  rows.sort((a, b) => (a.sign < b.sign ? -1 : 1))
  const sign = new BigUint64Array(1)
  for (const entry of rows) {
    sign[0] = entry.sign
    hash.update(new Uint8Array(sign.buffer))
    hash.update(entry.row)
  }
}
