/** @file Rows of a table under another optimizer: the weights, with state as a new row has it. */
import type { SparseTable } from '../table/index.ts'

/** `rows` as `table` keeps them; `steps` is what a row that remembers its last update is given. */
export function withoutState(rows: Uint8Array, savedRowBytes: number, table: SparseTable, steps: number): Uint8Array {
  const { dim, rowBytes, rule } = table
  const count = rows.length / savedRowBytes
  const [savedFloats, floats] = [savedRowBytes / 4, rowBytes / 4]
  const from = new Float32Array(rows.buffer, rows.byteOffset, count * savedFloats)
  const to = new Float32Array(count * floats)
  const clocks = new Uint32Array(to.buffer)
  for (let i = 0; i < count; i++) {
    to.set(from.subarray(i * savedFloats, i * savedFloats + dim), i * floats)
    if (rule.states > 0) to.fill(rule.stateInit, i * floats + dim, i * floats + 2 * dim)
    if (rule.clocked) clocks[(i + 1) * floats - 1] = steps
  }
  return new Uint8Array(to.buffer)
}
