/**
 * @file Records of lists of numbers, as Python's marshal writes them (version 2), written anew as records of arrays: numpy's stand-in
 * has lists, and to make bytes of them takes Python much longer than it takes here.
 */
import type { Area } from './area.ts'
import { BadField } from './bad-field.ts'
import type { FieldType } from './frames.ts'
import { broken, MARK_BYTES, STRING } from './records.ts'

const [INT, LONG, FLOAT] = [0x69, 0x6c, 0x67] // i, l, g
const INT_BYTES = 5
const FLOAT_BYTES = 9
/** Of a LONG: 15 bits each, the lowest first, and before them how many, below zero for a number below zero. */
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
    for (const { name, dtype } of fields) {
      const isWhole = dtype === 'int64' || dtype === 'uint64'
      const start = end + MARK_BYTES
      const count = from.getUint32(at + 1, true)
      at += MARK_BYTES
      end = start
      // What nearly all are stands here: a call for each number would be slow.
      for (let i = 0; i < count; i++) {
        const mark = from.getUint8(at)
        if (isWhole && mark === INT) {
          const value = from.getInt32(at + 1, true)
          to.setInt32(end, value, true)
          to.setInt32(end + 4, value >> 31, true)
        } else if (isWhole) {
          if (mark !== LONG) throw broken(at)
          if (!writeLong(from, at, to, end, dtype === 'int64'))
            throw new BadField(sample, `slot "${name}": expected numbers of ${dtype}, found ${wholeAt(from, at)}`)
        } else {
          const value = mark === FLOAT ? from.getFloat64(at + 1, true) : Number(wholeAt(from, at))
          if (dtype === 'float32') to.setFloat32(end, value, true)
          else to.setFloat64(end, value, true)
        }
        at += mark === INT ? INT_BYTES : mark === FLOAT ? FLOAT_BYTES : longBytes(from, at)
        end += dtype === 'float32' ? 4 : 8
      }
      to.setUint8(start - MARK_BYTES, STRING)
      to.setUint32(start - 4, end - start, true)
    }
  }
  return new Uint8Array(buffer, byteOffset, Math.ceil(end / 8) * 8)
}

const longBytes = (from: DataView, at: number) => INT_BYTES + Math.abs(from.getInt32(at + 1, true)) * DIGIT_BYTES

/** The LONG at a place as 64 bits, in halves since a bigint is slow; false: they cannot hold it. */
function writeLong(from: DataView, at: number, to: DataView, end: number, signed: boolean): boolean {
  const head = from.getInt32(at + 1, true)
  const digit = (i: number) => (i < Math.abs(head) ? from.getUint16(at + INT_BYTES + i * DIGIT_BYTES, true) : 0)
  // Four digits and four bits of the fifth.
  if (Math.abs(head) > 5 || digit(4) >= 2 ** 4) return false
  const low = digit(0) | (digit(1) << 15) | (digit(2) << 30)
  const upper = (digit(2) >>> 2) | (digit(3) << 13) | (digit(4) << 28)
  const high = head > 0 ? upper : (low === 0 ? -upper : ~upper) | 0
  to.setInt32(end, head > 0 ? low : -low, true)
  to.setInt32(end + 4, high, true)
  return signed ? high < 0 === head < 0 : head > 0
}

function wholeAt(from: DataView, at: number): bigint {
  const head = from.getInt32(at + 1, true)
  if (from.getUint8(at) === INT) return BigInt(head)
  if (from.getUint8(at) !== LONG) throw broken(at)
  let found = 0n
  for (let place = at + longBytes(from, at); place > at + INT_BYTES; ) {
    place -= DIGIT_BYTES
    found = found * 2n ** 15n + BigInt(from.getUint16(place, true))
  }
  return head < 0 ? -found : found
}
