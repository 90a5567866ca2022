/** @file Parsed columns copied into one SharedArrayBuffer, as every thread sees them. */
import type { ParsedChunk } from './batch.ts'

/** Columns of `samples` samples; arrays may be longer than what is used. */
export interface Columns {
  readonly samples: number
  readonly counts: Uint32Array
  readonly starts: Uint32Array
  readonly signs: BigUint64Array
  readonly dense: readonly (Float32Array | BigInt64Array)[]
}

export interface Shape {
  readonly sparseSlots: number
  readonly widths: readonly number[]
}

const LEASE_BYTES = 16
/** New buffers get some room, so that the next chunk, a little larger, fits too. */
const SLACK = 1.125

/** Copies the used part of the columns, into `recycled` if that is large enough. */
export function packColumns(columns: Columns, shape: Shape, recycled?: SharedArrayBuffer): ParsedChunk {
  const { samples } = columns
  const used = {
    counts: columns.counts.subarray(0, samples * shape.sparseSlots),
    starts: columns.starts.subarray(0, samples + 1),
    signs: columns.signs.subarray(0, columns.starts[samples]!),
    dense: columns.dense.map((column, d) => column.subarray(0, samples * shape.widths[d]!)),
  }
  const all = [used.counts, used.starts, used.signs, ...used.dense]
  const bytes = all.reduce((sum, array) => sum + aligned(array.byteLength), LEASE_BYTES)
  const fits = recycled !== undefined && recycled.byteLength >= bytes
  const buffer = fits ? recycled : new SharedArrayBuffer(Math.ceil((bytes * SLACK) / 4096) * 4096)
  const lease = new Int32Array(buffer, 0, 1)
  Atomics.store(lease, 0, 0)

  let at = LEASE_BYTES
  const place = (byteLength: number) => {
    at += aligned(byteLength)
    return at - aligned(byteLength)
  }
  const copyUint32 = (from: Uint32Array) => {
    const to = new Uint32Array(buffer, place(from.byteLength), from.length)
    to.set(from)
    return to
  }
  const signs = new BigUint64Array(buffer, place(used.signs.byteLength), used.signs.length)
  signs.set(used.signs)
  const dense = used.dense.map((from) => {
    if (from instanceof Float32Array) {
      const to = new Float32Array(buffer, place(from.byteLength), from.length)
      to.set(from)
      return to
    }
    const to = new BigInt64Array(buffer, place(from.byteLength), from.length)
    to.set(from)
    return to
  })
  return { samples, counts: copyUint32(used.counts), starts: copyUint32(used.starts), signs, dense, lease }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / 16) * 16
}
