/** @file A table's changes as a file: signs of changed rows, signs of rows that went, then the rows, as float32 or as bytes with scale and offset. */
import { damagedDelta } from './errors.ts'
import type { TableRows } from './published-rows.ts'

export const ROW_FORMS = ['float32', 'int8'] as const
export type RowForm = (typeof ROW_FORMS)[number]

/** What a delta does to a table. */
export interface TableChanges extends TableRows {
  readonly dim: number
  /** The first columns of a row that are counts (show and click), not weights: they stay float32 in every form. @default 0 */
  readonly leading?: number | undefined
  /** Signs whose rows went, ascending. */
  readonly gone: BigUint64Array
}

const MAGIC = 'OARDELTA'
const FILE_VERSION = 1
const HEADER_BYTES = 64
const SCALE_BYTES = 8

/** A byte a value: value = offset + scale * byte. `back` is what a reader makes of them. */
export function quantized(weights: Float32Array, bytes: Uint8Array, back: Float32Array) {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of weights) {
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  const scale = Math.fround((high - low) / 255)
  const offset = Math.fround(low)
  for (let j = 0; j < weights.length; j++) {
    const value = weights[j]!
    const byte = scale === 0 ? 0 : Math.min(255, Math.max(0, Math.round((value - offset) / scale)))
    bytes[j] = byte
    back[j] = Math.fround(offset + Math.fround(scale * byte))
  }
  return { scale, offset }
}

/** The file, in parts. Rows become bytes here alone: of bytes made of bytes, the scale is another. */
export function tableChangesFile(changes: TableChanges, form: RowForm): readonly Uint8Array[] {
  const { signs, gone, weights, dim, leading = 0 } = changes
  const head = Buffer.alloc(HEADER_BYTES)
  head.write(MAGIC, 'latin1')
  for (const [i, value] of [FILE_VERSION, dim, signs.length, gone.length, ROW_FORMS.indexOf(form), leading].entries())
    head.writeUInt32LE(value, 8 + 4 * i)
  const parts = [head, bytesOf(signs), bytesOf(gone), form === 'int8' ? bytesOfRows(changes) : bytesOf(weights)]
  return parts.filter(({ length }) => length > 0)
}

const bytesOf = ({ buffer, byteOffset, byteLength }: BigUint64Array | Float32Array) =>
  new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)

/** Of a row as bytes: scale and offset, the leading columns as float32, a byte for each of the others. */
const int8RowBytes = (dim: number, leading: number) => SCALE_BYTES + 4 * leading + (dim - leading)

function bytesOfRows({ signs, weights, dim, leading = 0 }: TableChanges): Uint8Array {
  const each = int8RowBytes(dim, leading)
  const out = Buffer.alloc(signs.length * each)
  const back = new Float32Array(dim - leading)
  for (let i = 0; i < signs.length; i++) {
    const [at, end] = [i * each, (i + 1) * each]
    const row = weights.subarray(i * dim, (i + 1) * dim)
    const { scale, offset } = quantized(row.subarray(leading), out.subarray(end - back.length, end), back)
    out.writeFloatLE(scale, at)
    out.writeFloatLE(offset, at + 4)
    for (let j = 0; j < leading; j++) out.writeFloatLE(row[j]!, at + SCALE_BYTES + 4 * j)
  }
  return out
}

/** The changes out of a file whose checksum was compared. */
export function parseTableChanges(data: Uint8Array, path: string): TableChanges {
  const view = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  if (view.length < HEADER_BYTES || view.toString('latin1', 0, 8) !== MAGIC)
    throw damagedDelta(path, `it does not begin with ${MAGIC}`)
  const numbers = [0, 1, 2, 3, 4, 5].map((i) => view.readUInt32LE(8 + 4 * i))
  const [version = 0, dim = 0, rows = 0, gone = 0, form = 0, leading = 0] = numbers
  if (version !== FILE_VERSION) throw damagedDelta(path, `it has version ${version}; this build reads ${FILE_VERSION}`)
  const rowBytes = ROW_FORMS[form] === 'int8' ? int8RowBytes(dim, leading) : 4 * dim
  const expected = HEADER_BYTES + 8 * (rows + gone) + rows * rowBytes
  if (view.length !== expected || ROW_FORMS[form] === undefined || leading > dim)
    throw damagedDelta(path, `it has ${view.length} bytes instead of ${expected}`)
  const copy = (from: number, bytes: number) => data.slice(from, from + bytes).buffer
  const rowsAt = HEADER_BYTES + 8 * (rows + gone)
  return {
    dim,
    signs: new BigUint64Array(copy(HEADER_BYTES, 8 * rows)),
    gone: new BigUint64Array(copy(HEADER_BYTES + 8 * rows, 8 * gone)),
    weights:
      ROW_FORMS[form] === 'int8'
        ? dequantized(view.subarray(rowsAt), rows, dim, leading)
        : new Float32Array(copy(rowsAt, 4 * rows * dim)),
  }
}

function dequantized(view: Buffer, rows: number, dim: number, leading: number): Float32Array {
  const weights = new Float32Array(rows * dim)
  const each = int8RowBytes(dim, leading)
  for (let i = 0; i < rows; i++) {
    const at = i * each
    const bytesAt = at + each - dim
    const [scale, offset] = [view.readFloatLE(at), view.readFloatLE(at + 4)]
    for (let j = 0; j < leading; j++) weights[i * dim + j] = view.readFloatLE(at + SCALE_BYTES + 4 * j)
    for (let j = leading; j < dim; j++)
      weights[i * dim + j] = Math.fround(offset + Math.fround(scale * view[bytesAt + j]!))
  }
  return weights
}
