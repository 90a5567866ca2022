/** @file A table as a file: sorted signs, then weights in the same order. Written from a table, read into shared memory. */
import { crc32 } from 'node:zlib'
import { createFile, localFiles } from '../../base/fs/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import { damagedExport } from './errors.ts'
import { type FileMark, hexOf } from './manifest.ts'
import { findSign, indexSigns, pullRows, type SignIndex, segmentOf } from './rows.ts'

const MAGIC = 'OARTABLE'
const FILE_VERSION = 1
const HEADER_BYTES = 64
const SLICE_BYTES = 256 * 1024 * 1024 // weights put in order at a time
const BLOCK_BYTES = 8 * 1024 * 1024

/** Where signs and weights lie; both begin at multiples of 64 bytes, so that the file can be mapped. */
const layoutOf = (rows: number, dim: number) => {
  const weightsAt = HEADER_BYTES + Math.ceil((8 * rows) / 64) * 64
  return { weightsAt, bytes: weightsAt + 4 * rows * dim }
}

/** Writes the weights of table number `index`; no thread may train meanwhile. Optimizer state stays behind. */
export async function writeTableFile(
  path: string,
  params: LocalParams,
  index: number,
): Promise<FileMark & { readonly rows: number }> {
  const table = params.tables[index]!
  const { dim, rowCount: rows } = table
  const signs = sortedSigns(params, index)
  const { weightsAt, bytes } = layoutOf(rows, dim)
  const file = await createFile(path)
  let crc = 0
  const put = async (data: Uint8Array) => {
    if (data.length === 0) return // of no bytes at all crc32() is 0, whatever came before
    crc = crc32(data, crc)
    await file.write(data)
  }
  try {
    await put(header(rows, dim, weightsAt, bytes))
    await put(new Uint8Array(signs.buffer))
    await put(new Uint8Array(weightsAt - HEADER_BYTES - 8 * rows))
    const perSlice = Math.max(1, Math.floor(SLICE_BYTES / (4 * dim)))
    const places = indexSigns(new Uint32Array(signs.buffer), rows)
    for (let from = 0; from < rows; from += perSlice) {
      const slice = { from, to: Math.min(rows, from + perSlice) }
      await put(new Uint8Array(orderedWeights(params, index, signs, places, slice).buffer))
    }
  } finally {
    await file.close()
  }
  return { bytes, crc32: hexOf(crc), rows }
}

/** A table file in shared memory, as every thread that scores sees it. */
export interface TableMemory {
  readonly rows: number
  readonly dim: number
  /** [rows] unsigned 64-bit signs, ascending. */
  readonly signs: SharedArrayBuffer
  /** [rows, dim] float32. */
  readonly weights: SharedArrayBuffer
  /** Where each sign is. */
  readonly index: SignIndex
  /** What has changed since, the newest first. @default nothing */
  readonly layers?: readonly TableLayer[] | undefined
}

/** Rows over those of a table: the first `rows` signs have weights, the others have no row any more. */
export interface TableLayer {
  readonly rows: number
  readonly signs: SharedArrayBuffer
  /** [rows, dim] float32. */
  readonly weights: SharedArrayBuffer
  readonly index: SignIndex
}

/** Reads a table file, comparing every byte with its checksum. Blocks while it reads. */
export async function readTableFile(path: string, mark: FileMark): Promise<TableMemory> {
  const file = await localFiles.open(path)
  const block = new Uint8Array(Math.min(BLOCK_BYTES, mark.bytes))
  let [position, crc] = [0, 0]
  const next = async (most: number) => {
    const data = block.subarray(0, Math.min(most, block.length))
    if (data.length === 0) return data
    const got = await file.read(data, position)
    if (got < data.length) throw damagedExport(path, `it ends after ${position + got} bytes`)
    crc = crc32(data, crc)
    position += got
    return data
  }
  const fill = async (target: Uint8Array) => {
    for (let at = 0; at < target.length; ) {
      const data = await next(target.length - at)
      target.set(data, at)
      at += data.length
    }
  }
  try {
    if (file.bytes !== mark.bytes || mark.bytes < HEADER_BYTES)
      throw damagedExport(path, `it has ${file.bytes} bytes instead of ${mark.bytes}`)
    const { rows, dim, weightsAt } = parseHeader(await next(HEADER_BYTES), path, mark.bytes)
    const signs = new SharedArrayBuffer(8 * rows)
    const weights = new SharedArrayBuffer(4 * rows * dim)
    await fill(new Uint8Array(signs))
    await next(weightsAt - HEADER_BYTES - 8 * rows)
    await fill(new Uint8Array(weights))
    if (hexOf(crc) !== mark.crc32) throw damagedExport(path, 'its checksum does not match: it was altered')
    return { rows, dim, signs, weights, index: indexSigns(new Uint32Array(signs), rows) }
  } finally {
    await file.close()
  }
}

function header(rows: number, dim: number, weightsAt: number, bytes: number): Uint8Array {
  const data = new Uint8Array(HEADER_BYTES)
  const view = new DataView(data.buffer)
  data.set(new TextEncoder().encode(MAGIC))
  view.setUint32(8, FILE_VERSION, true)
  view.setUint32(12, dim, true)
  for (const [i, value] of [rows, HEADER_BYTES, weightsAt, bytes].entries())
    view.setBigUint64(16 + 8 * i, BigInt(value), true)
  return data
}

function parseHeader(data: Uint8Array, path: string, bytes: number) {
  const view = new DataView(data.buffer, data.byteOffset, HEADER_BYTES)
  if (new TextDecoder().decode(data.subarray(0, 8)) !== MAGIC)
    throw damagedExport(path, `it does not begin with ${MAGIC}`)
  const version = view.getUint32(8, true)
  if (version !== FILE_VERSION) throw damagedExport(path, `it has version ${version}; this build reads ${FILE_VERSION}`)
  const [dim, rows] = [view.getUint32(12, true), Number(view.getBigUint64(16, true))]
  const layout = layoutOf(rows, dim)
  if (layout.bytes !== bytes) throw damagedExport(path, `its header speaks of ${layout.bytes} bytes, not of ${bytes}`)
  return { rows, dim, ...layout }
}

function sortedSigns(params: LocalParams, index: number): BigUint64Array<ArrayBuffer> {
  const table = params.tables[index]!
  const all = new BigUint64Array(table.rowCount)
  let at = 0
  for (const { signs } of table.scan()) {
    all.set(signs, at)
    at += signs.length
  }
  return all.sort()
}

/** Weights of rows [from, to) in the order of `signs`. Each slice scans the table anew, so that memory stays bounded. */
function orderedWeights(
  params: LocalParams,
  index: number,
  signs: BigUint64Array,
  places: SignIndex,
  { from, to }: { readonly from: number; readonly to: number },
) {
  const table = params.tables[index]!
  const { dim } = table
  const words = new Uint32Array(signs.buffer)
  const weights = new Float32Array((to - from) * dim)
  for (const part of table.scan()) {
    const { rows, stride } = evaluatedRows(params, index, part)
    const own = new Uint32Array(part.signs.buffer, part.signs.byteOffset, 2 * part.signs.length)
    for (let i = 0; i < part.signs.length; i++) {
      const place = findSign(places, words, own[2 * i]!, own[2 * i + 1]!)
      if (place < from || place >= to) continue
      const first = i * stride
      const at = (place - from) * dim
      for (let j = 0; j < dim; j++) weights[at + j] = rows[first + j]!
    }
  }
  return weights
}

/**
 * Weights as evaluation sees them, each row `stride` floats behind the one before: Adam that is not lazy brings rows up to the
 * step first, an accessor's rows are more than they show, and weights may be bfloat16.
 */
function evaluatedRows(
  params: LocalParams,
  index: number,
  { signs, rows, rowBytes }: { readonly signs: BigUint64Array; readonly rows: Uint8Array; readonly rowBytes: number },
): { readonly rows: Float32Array; readonly stride: number } {
  const { dim, rule, segmentBits, accessor, precision } = params.tables[index]!
  if (!rule.clocked && !accessor && precision === 'float32')
    return { rows: new Float32Array(rows.buffer, rows.byteOffset, rows.length / 4), stride: rowBytes / 4 }
  // A scan gives the rows of one segment at a time.
  const lengths = new Uint32Array(2 ** segmentBits)
  lengths[segmentOf(signs[0]!, segmentBits)] = signs.length
  const pulled = new Float32Array(signs.length * dim)
  pullRows(params, index, { signs: signs.slice(), lengths }, pulled)
  return { rows: pulled, stride: dim }
}
