/**
 * @file Records of lists of numbers, as Python's marshal writes them (version 2), written anew as records of arrays: numpy's stand-in
 * has lists, and to make bytes of them takes Python much longer than it takes here.
 */
import type { Area } from './area.ts'
import { BadField } from './bad-field.ts'
import type { FieldType } from './frames.ts'
import { broken, MARK_BYTES, STRING } from './records.ts'

const INT = 'i'.charCodeAt(0)
const LONG = 'l'.charCodeAt(0)
const FLOAT = 'g'.charCodeAt(0)
const INT_BYTES = 5
const FLOAT_BYTES = 9
/** Of a LONG: 15 bits each, the lowest first, and how many before them; below zero for a number below zero. */
const DIGIT_BYTES = 2

export interface ListField {
  /** For messages. */
  readonly name: string
  readonly dtype: FieldType
}

/** Records of the first samples; throws BadField for a number that its type cannot hold. */
export function arraysOfLists(
  payload: Uint8Array,
  samples: number,
  fields: readonly ListField[],
  area: Area,
): Uint8Array {
  const from = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  // A number takes at most 8 bytes, and had at least 5.
  const { buffer, byteOffset, byteLength } = area.uint32(Math.ceil(payload.length / 2))
  const to = new DataView(buffer, byteOffset, byteLength)
  let [at, end] = [0, 0]
  for (let sample = 0; sample < samples; sample++) {
    if (from.getUint32(at + 1, true) !== fields.length) throw broken(at)
    to.setUint32(end + 1, fields.length, true)
    at += MARK_BYTES
    end += MARK_BYTES
    for (const field of fields) {
      const { dtype } = field
      const isWhole = dtype === 'int64' || dtype === 'uint64'
      const start = end + MARK_BYTES
      const count = from.getUint32(at + 1, true)
      at += MARK_BYTES
      end = start
      for (let i = 0; i < count; i++) {
        const mark = from.getUint8(at)
        // What nearly all are stands here, since a call for each number is slow.
        if (isWhole && mark === INT) {
          const value = from.getInt32(at + 1, true)
          to.setInt32(end, value, true)
          to.setInt32(end + 4, value >> 31, true)
          at += INT_BYTES
          end += 8
        } else if (dtype === 'float32' && mark === FLOAT) {
          to.setFloat32(end, from.getFloat64(at + 1, true), true)
          at += FLOAT_BYTES
          end += 4
        } else {
          const bytes = WRITERS[dtype](from, at, to, end)
          if (bytes === 0) throw tooLarge(sample, field, wholeAt(from, at))
          at += sizeAt(from, at)
          end += bytes
        }
      }
      to.setUint8(start - MARK_BYTES, STRING)
      to.setUint32(start - 4, end - start, true)
    }
  }
  return new Uint8Array(buffer, byteOffset, Math.ceil(end / 8) * 8)
}

/** Writes the number at a place to another; how many bytes that took, 0 for one that does not fit. */
type Writer = (from: DataView, at: number, to: DataView, end: number) => number

const WRITERS: Readonly<Record<FieldType, Writer>> = {
  int64: wholeWriter((negative, high) => high < 0 === negative),
  uint64: wholeWriter((negative) => !negative),
  float32: (from, at, to, end) => {
    to.setFloat32(end, numberAt(from, at), true)
    return 4
  },
  float64: (from, at, to, end) => {
    to.setFloat64(end, numberAt(from, at), true)
    return 8
  },
}

/** `fits`: with this sign and upper half. */
function wholeWriter(fits: (negative: boolean, high: number) => boolean): Writer {
  return (from, at, to, end) => {
    const mark = from.getUint8(at)
    if (mark !== INT && mark !== LONG) throw broken(at)
    const head = from.getInt32(at + 1, true)
    let low = head
    let high = head >> 31
    if (mark === LONG) {
      const digit = (i: number) => (i < Math.abs(head) ? from.getUint16(at + INT_BYTES + i * DIGIT_BYTES, true) : 0)
      // 64 bits are four digits and four bits of the fifth.
      if (Math.abs(head) > 5 || digit(4) >= 2 ** 4) return 0
      low = digit(0) | (digit(1) << 15) | (digit(2) << 30)
      high = (digit(2) >>> 2) | (digit(3) << 13) | (digit(4) << 28)
      if (head < 0) {
        high = low === 0 ? -high : ~high
        low = -low
      }
    }
    to.setInt32(end, low, true)
    to.setInt32(end + 4, high, true)
    return fits(head < 0, high | 0) ? 8 : 0
  }
}

/** A whole number among those of a field of 32 or 64-bit numbers is one too. */
function numberAt(from: DataView, at: number): number {
  return from.getUint8(at) === FLOAT ? from.getFloat64(at + 1, true) : Number(wholeAt(from, at))
}

function wholeAt(from: DataView, at: number): bigint {
  const head = from.getInt32(at + 1, true)
  if (from.getUint8(at) === INT) return BigInt(head)
  let found = 0n
  for (let place = at + sizeAt(from, at); place > at + INT_BYTES; ) {
    place -= DIGIT_BYTES
    found = found * 2n ** 15n + BigInt(from.getUint16(place, true))
  }
  return head < 0 ? -found : found
}

function sizeAt(from: DataView, at: number): number {
  const mark = from.getUint8(at)
  if (mark === INT) return INT_BYTES
  if (mark === FLOAT) return FLOAT_BYTES
  if (mark === LONG) return INT_BYTES + Math.abs(from.getInt32(at + 1, true)) * DIGIT_BYTES
  throw broken(at)
}

function tooLarge(sample: number, { name, dtype }: ListField, found: bigint): BadField {
  return new BadField(sample, `slot "${name}": expected numbers of ${dtype}, found ${found}`)
}
