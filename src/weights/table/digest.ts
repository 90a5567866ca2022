/** @file A digest of rows that does not depend on their order: what "bit-identical" means. Rows pass by block by block, none is kept. */
import { type Hash, hash as hashOnce } from 'node:crypto'
import type { SparseTable } from './table.ts'

interface Block {
  readonly signs: BigUint64Array
  readonly rows: Uint8Array
}

/** Sums of this many words of the SHA-256 of each row, exact below 2^52, which is taken off. */
const LANES = 8
const WHOLE = 2 ** 52

/** The sum of what each row digests to: parts of a table, of one process or of several, add up to the whole. */
export class RowsDigest {
  readonly #sums = new Float64Array(LANES)
  #room = new Uint8Array()

  add({ signs, rows }: Block): void {
    if (signs.length === 0) return
    const rowBytes = rows.byteLength / signs.length
    if (this.#room.length !== 8 + rowBytes) this.#room = new Uint8Array(8 + rowBytes)
    const room = this.#room
    const signBytes = new Uint8Array(signs.buffer, signs.byteOffset, signs.byteLength)
    for (let i = 0; i < signs.length; i++) {
      room.set(signBytes.subarray(8 * i, 8 * i + 8))
      room.set(rows.subarray(i * rowBytes, (i + 1) * rowBytes), 8)
      const row = hashOnce('sha256', room, 'buffer')
      for (let lane = 0; lane < LANES; lane++) this.#addTo(lane, row.readUInt32LE(4 * lane))
    }
  }

  /** What another process has added up. */
  join(sums: Uint8Array): void {
    const others = new Float64Array(sums.slice().buffer)
    for (let lane = 0; lane < LANES; lane++) this.#addTo(lane, others[lane]!)
  }

  get bytes(): Uint8Array {
    return new Uint8Array(this.#sums.slice().buffer)
  }

  #addTo(lane: number, value: number): void {
    const sum = this.#sums[lane]! + value
    this.#sums[lane] = sum >= WHOLE ? sum - WHOLE : sum
  }
}

/** Feeds the digest of all rows, sign, weight and state, to `hash`. */
export function digestRows(blocks: Iterable<Block>, hash: Hash): void {
  const digest = new RowsDigest()
  for (const block of blocks) digest.add(block)
  hash.update(digest.bytes)
}

/** All rows of a table, as copies. */
export function copyRows(table: SparseTable): readonly Block[] {
  return Array.from(table.scan(), ({ signs, rows }) => ({ signs: signs.slice(), rows: rows.slice() }))
}
