/** @file A server's whole state going out and coming in, in blocks small enough that heartbeats are never late. */
import { checkMessage, type Parts } from '../../base/net/index.ts'
import type { ParamStore, RowBlock } from './store.ts'

/** Rows are sent in blocks of about so many bytes. */
const BLOCK_BYTES = 1024 * 1024

export class StateService {
  readonly #store: ParamStore
  /** Scans under way, by worker and table. */
  readonly #scans = new Map<string, Generator<RowBlock>>()

  constructor(store: ParamStore) {
    this.#store = store
  }

  /** The next block of a scan; an empty one ends it. Body: table, 1 to begin anew, 2 with changed rows alone. Answer: rows, then signs, then bytes of rows. */
  scan(rank: number, body: Uint8Array<ArrayBuffer>): Parts {
    const [table = 0, begin] = new Uint32Array(body.buffer, body.byteOffset, 2)
    checkMessage(table < this.#store.dims.length, `table ${table} of ${this.#store.dims.length}`)
    const key = `${rank}.${table}`
    const known = begin === 0 ? this.#scans.get(key) : undefined
    const scan = known ?? (begin === 2 ? this.#store.changed(table) : this.#store.scan(table))
    this.#scans.set(key, scan)
    const blocks: RowBlock[] = []
    let bytes = 0
    while (bytes < BLOCK_BYTES) {
      const { value, done } = scan.next()
      if (done) break
      // The store's views die at the next block.
      blocks.push({ signs: value.signs.slice(), rows: value.rows.slice() })
      bytes += value.rows.byteLength
    }
    return encodeRows(table, blocks)
  }

  load(body: Uint8Array<ArrayBuffer>): Parts {
    const { table, signs, rows } = decodeRows(body)
    checkMessage(table < this.#store.dims.length, `table ${table} of ${this.#store.dims.length}`)
    const least = 4 * this.#store.dims[table]! * signs.length
    checkMessage(rows.byteLength >= least, `${signs.length} rows in ${rows.byteLength} bytes`)
    this.#store.load(table, { signs, rows })
    return []
  }

  /** Another model is about to be loaded. */
  reset(): Parts {
    this.#scans.clear()
    this.#store.reset()
    return []
  }

  /** Steps, then weights and optimizer state. */
  dense(): Parts {
    const { bytes, steps } = this.#store.dense()
    return [new Uint8Array(Uint32Array.of(steps, 0).buffer), bytes.slice()]
  }

  loadDense(body: Uint8Array<ArrayBuffer>): Parts {
    const dense = decodeDense(body)
    const { byteLength } = this.#store.dense().bytes
    checkMessage(dense.bytes.byteLength === byteLength, `${dense.bytes.byteLength} bytes of ${byteLength} dense`)
    this.#store.loadDense(dense)
    return []
  }
}

export function encodeRows(table: number, blocks: readonly RowBlock[]): Parts {
  const count = blocks.reduce((sum, { signs }) => sum + signs.length, 0)
  const signs = blocks.map(({ signs }) => new Uint8Array(signs.buffer, signs.byteOffset, signs.byteLength))
  return [new Uint8Array(Uint32Array.of(table, count).buffer), ...signs, ...blocks.map(({ rows }) => rows)]
}

export function decodeRows(body: Uint8Array<ArrayBuffer>): RowBlock & { readonly table: number } {
  checkMessage(body.byteLength >= 8, 'rows without their number')
  const [table = 0, count = 0] = new Uint32Array(body.buffer, body.byteOffset, 2)
  checkMessage(8 + 8 * count <= body.byteLength, `${count} rows in ${body.byteLength} bytes`)
  const rows = body.subarray(8 + 8 * count)
  const isWhole = count === 0 ? rows.byteLength === 0 : rows.byteLength % count === 0
  checkMessage(isWhole, `${count} rows in ${rows.byteLength} bytes`)
  return { table, signs: new BigUint64Array(body.buffer, body.byteOffset + 8, count), rows }
}

export function decodeDense(body: Uint8Array<ArrayBuffer>): { readonly bytes: Uint8Array; readonly steps: number } {
  checkMessage(body.byteLength >= 8, 'dense values without their steps')
  return { steps: new Uint32Array(body.buffer, body.byteOffset, 1)[0]!, bytes: body.subarray(8) }
}
