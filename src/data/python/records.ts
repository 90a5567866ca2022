/**
 * @file Records of a frame: each a sample as Python's marshal writes a list of arrays (version 2). Straight into columns where they fit the
 * slots as they are; else what each field has, out of its many places.
 */
import type { Columns, Slot } from '../batch.ts'
import type { Area } from './area.ts'
import type { FieldType } from './frames.ts'

/** `[` or `(`, then how many fields; `s`, then how many bytes, before each field. */
export const MARK_BYTES = 5
export const STRING = 's'.charCodeAt(0)
const WORD = 4
const SIGN_BYTES = 8
/** Exponent of a 32-bit number that is not finite. */
const NOT_FINITE = 0x7f800000
const NEGATIVE = 0x80000000

/** Undefined: a field is of another type, a sample does not fit, or a number is none: for whoever can tell. */
export function columnsOfRecords(
  payload: Uint8Array,
  samples: number,
  slots: readonly Slot[],
  dtypes: readonly FieldType[],
  area: Area,
): Columns | undefined {
  if (!slots.every((slot, i) => isTakenAsItIs(slot, dtypes[i]!))) return undefined
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  const fields = slots.map((slot, i) => wordsOf(slot, dtypes[i]!, samples, area))
  const sparse = fields.filter(({ words }) => words === undefined).length
  const [counts, starts] = [area.uint32(samples * sparse), area.uint32(samples + 1)]
  const halves = area.uint32(payload.length / WORD)
  starts[0] = 0
  for (let i = 0, at = 0, count = 0, half = 0; i < samples; i++) {
    at += MARK_BYTES
    for (const { words, width, top, bad } of fields) {
      const from = at + MARK_BYTES
      at = from + view.getUint32(at + 1, true)
      if (words) {
        if (at - from !== width * WORD) return undefined
        for (let word = i * width, place = from; place < at; place += WORD, word++) {
          words[word] = view.getUint32(place, true)
          if (bad !== 0 && (words[word]! & bad) === bad) return undefined
        }
      } else {
        if (at === from) return undefined
        counts[count++] = (at - from) / SIGN_BYTES
        for (let place = from; place < at; place += SIGN_BYTES) {
          halves[half++] = view.getUint32(place, true)
          const high = view.getUint32(place + WORD, true)
          if (high > top) return undefined
          halves[half++] = high
        }
      }
    }
    starts[i + 1] = half / 2
  }
  const dense = fields.flatMap(({ words, numbers }) => (words ? [numbers!] : []))
  return {
    samples,
    counts,
    starts,
    signs: new BigUint64Array(halves.buffer, halves.byteOffset, starts[samples]!),
    dense,
  }
}

function isTakenAsItIs(slot: Slot, dtype: FieldType): boolean {
  return slot.kind === 'sparse' ? dtype === 'int64' || dtype === 'uint64' : dtype === slot.dtype
}

/** Where a dense slot's values go; for a sparse slot how large the upper half of a sign may be. */
function wordsOf(slot: Slot, dtype: FieldType, samples: number, area: Area) {
  const top = dtype === 'int64' ? NEGATIVE - 1 : 2 ** 32 - 1
  if (slot.kind === 'sparse') return { words: undefined, numbers: undefined, width: 0, top, bad: 0 }
  const [array, bad] = slot.dtype === 'int64' ? [BigInt64Array, 0] : [Float32Array, NOT_FINITE]
  const width = (slot.width * array.BYTES_PER_ELEMENT) / WORD
  const words = area.uint32(samples * width)
  return { words, numbers: new array(words.buffer, words.byteOffset, samples * slot.width), width, top, bad }
}

export interface RecordField {
  /** Values of all samples one after the other. */
  readonly words: Uint32Array<ArrayBuffer>
  /** Values of each sample: one number for all, or one each. */
  readonly counts: number | Uint32Array
}

export function fieldsOfRecords(
  payload: Uint8Array,
  samples: number,
  dtypes: readonly FieldType[],
  area: Area,
): readonly RecordField[] {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  const fields = dtypes.length
  const places = placesOf(view, samples, fields, area)
  return dtypes.map((dtype, field) => {
    const { words, bytes } = gathered(view, places, { field, fields, samples, area })
    return { words, counts: countsOf(bytes, dtype.endsWith('64') ? 8 : 4) }
  })
}

/** Where the mark of each field of each sample is. */
function placesOf(view: DataView, samples: number, fields: number, area: Area): Uint32Array {
  const places = area.uint32(samples * fields)
  let at = 0
  for (let i = 0, k = 0; i < samples; i++) {
    if (view.getUint32(at + 1, true) !== fields) throw broken(at)
    at += MARK_BYTES
    for (const end = k + fields; k < end; k++) {
      if (view.getUint8(at) !== STRING) throw broken(at)
      places[k] = at
      at += MARK_BYTES + view.getUint32(at + 1, true)
    }
  }
  return places
}

interface Gathering {
  readonly field: number
  readonly fields: number
  readonly samples: number
  readonly area: Area
}

/** A field of all samples: what it holds as 32-bit words, which lie anywhere in the records, and the bytes of each sample. */
function gathered(view: DataView, places: Uint32Array, { field, fields, samples, area }: Gathering) {
  const bytes = area.uint32(samples)
  let size = 0
  for (let i = 0, k = field; i < samples; i++, k += fields) {
    bytes[i] = view.getUint32(places[k]! + 1, true)
    size += bytes[i]!
  }
  const words = area.uint32(size / WORD)
  for (let i = 0, k = field, to = 0; i < samples; i++, k += fields) {
    const from = places[k]! + MARK_BYTES
    for (let word = 0; word < bytes[i]!; word += WORD) words[to++] = view.getUint32(from + word, true)
  }
  return { words, bytes }
}

/** Bytes become counts in place. */
function countsOf(bytes: Uint32Array, itemBytes: number): number | Uint32Array {
  let equal = true
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] !== bytes[0]! * (i === 0 ? 1 : itemBytes)) equal = false
    bytes[i]! /= itemBytes
  }
  return equal ? (bytes[0] ?? 0) : bytes
}

export const broken = (at: number) => new Error(`internal: the Python reader's record is broken at byte ${at}`)
