/** @file The fields of a frame as columns, checked against the slots: nothing is filled in, nothing is rounded without a word. */
import type { Columns, Slot } from '../batch.ts'
import type { Area } from './area.ts'
import { BadField } from './bad-field.ts'
import type { Field, FieldType, Frame, SamplesHeader } from './frames.ts'
import { arraysOfLists } from './list-records.ts'
import { columnsOfRecords, fieldsOfRecords, type RecordField } from './records.ts'

type Numbers = BigInt64Array | BigUint64Array | Float32Array | Float64Array

/** A frame with samples. */
export interface SamplesFrame extends Frame {
  readonly header: SamplesHeader
}

interface Column {
  readonly slot: Slot
  readonly dtype: FieldType
  readonly values: Numbers
  /** Values of each sample: one number for all, or one each. */
  readonly counts: number | Uint32Array
}

const ARRAYS = { int64: BigInt64Array, uint64: BigUint64Array, float32: Float32Array, float64: Float64Array } as const

/** Columns of the first `samples` samples of a frame, in the area's memory; throws BadField for the first sample that does not fit. */
export function columnsOf(slots: readonly Slot[], frame: SamplesFrame, samples: number, area: Area): Columns {
  const { header } = frame
  const dtypes = header.fields.map(({ dtype }) => dtype)
  const records = header.records && recordsIn(frame, samples, slots, area)
  const straight = records && columnsOfRecords(records, samples, slots, dtypes, area)
  if (straight) return straight
  const columns = records
    ? fieldsOfRecords(records, samples, dtypes, area).map((field, i) => recordColumn(slots[i]!, dtypes[i]!, field))
    : fieldsOf(slots, frame.payload, header)
  const found = columns.map((column) => badCount(column, samples)).filter((bad) => bad !== undefined)
  const first = found.sort((a, b) => a.sample - b.sample)[0]
  if (first) throw first
  const sparse = columns.filter(({ slot }) => slot.kind === 'sparse')
  const dense = columns.flatMap((column) => (column.slot.kind === 'dense' ? [denseValues(column, samples, area)] : []))
  return { samples, ...signsOf(sparse, samples, area), dense }
}

function recordsIn({ header, payload }: SamplesFrame, samples: number, slots: readonly Slot[], area: Area): Uint8Array {
  if (header.records === 'arrays') return payload
  const fields = header.fields.map(({ dtype }, i) => ({ dtype, name: slots[i]!.name }))
  return arraysOfLists(payload, samples, fields, area)
}

function recordColumn(slot: Slot, dtype: FieldType, { words, counts }: RecordField): Column {
  return { slot, dtype, counts, values: numbersIn(words, dtype) }
}

/** The same memory as numbers of a type. */
function numbersIn({ buffer, byteOffset, byteLength }: Uint32Array<ArrayBuffer>, dtype: FieldType): Numbers {
  const array = ARRAYS[dtype]
  return new array(buffer, byteOffset, byteLength / array.BYTES_PER_ELEMENT)
}

function fieldsOf(slots: readonly Slot[], payload: Uint8Array, { fields, samples }: SamplesHeader): readonly Column[] {
  let at = payload.byteOffset
  const take = (bytes: number) => {
    at += Math.ceil(bytes / 8) * 8
    return at - Math.ceil(bytes / 8) * 8
  }
  return fields.map(({ dtype, width = null, values = 0 }: Field, i) => {
    const { buffer } = payload
    const counts = width ?? new Uint32Array(buffer, take(samples * 4), samples)
    const array = ARRAYS[dtype]
    return {
      slot: slots[i]!,
      dtype,
      counts,
      values: new array(buffer as ArrayBuffer, take(values * array.BYTES_PER_ELEMENT), values),
    }
  })
}

function badCount({ slot, counts }: Column, samples: number): BadField | undefined {
  const bad = (sample: number, count: number) => new BadField(sample, countText(slot, count))
  const isBad = (count: number) => (slot.kind === 'dense' ? count !== slot.width : count === 0)
  if (typeof counts === 'number') return samples > 0 && isBad(counts) ? bad(0, counts) : undefined
  const at = counts.subarray(0, samples).findIndex(isBad)
  return at < 0 ? undefined : bad(at, counts[at]!)
}

function countText(slot: Slot, count: number): string {
  return slot.kind === 'dense'
    ? `slot "${slot.name}": expected ${slot.width} values, found ${count}`
    : `slot "${slot.name}": the number of ids can not be zero, you need padding`
}

/** Sample after sample, slot after slot, copied as halves: a bigint for each sign would be slow. */
function signsOf(
  columns: readonly Column[],
  samples: number,
  area: Area,
): Pick<Columns, 'counts' | 'starts' | 'signs'> {
  const slots = columns.length
  const counts = area.uint32(samples * slots)
  const starts = area.uint32(samples + 1)
  for (const [s, { counts: own }] of columns.entries()) {
    if (typeof own === 'number') for (let i = s; i < counts.length; i += slots) counts[i] = own
    else for (let i = 0; i < samples; i++) counts[i * slots + s] = own[i]!
  }
  starts[0] = 0
  for (let i = 0, at = 0; i < samples; i++) {
    let sum = starts[i]!
    for (const end = at + slots; at < end; at++) sum += counts[at]!
    starts[i + 1] = sum
  }
  const halves = area.uint32(starts[samples]! * 2)
  const to = area.uint32(samples)
  to.set(starts.subarray(0, samples))
  for (const [s, column] of columns.entries()) {
    const from = halvesOf(column, samples)
    let read = 0
    for (let i = 0; i < samples; i++) {
      let write = to[i]! * 2
      const count = counts[i * slots + s]!
      for (const end = read + count * 2; read < end; ) halves[write++] = from[read++]!
      to[i]! += count
    }
  }
  return { counts, starts, signs: new BigUint64Array(halves.buffer, halves.byteOffset, halves.length / 2) }
}

/** Signs as pairs of 32-bit numbers, low half first; each is from 0 to 2^64-1 and whole. */
function halvesOf(column: Column, samples: number): Uint32Array {
  const { values, dtype } = column
  const used = countOf(column, samples)
  const refuse = (i: number, hint = '') => {
    throw bad(column, i, `expected ids (whole numbers from 0 to 18446744073709551615), found ${values[i]}${hint}`)
  }
  if (values instanceof Float32Array || values instanceof Float64Array) {
    const halves = new Uint32Array(used * 2)
    const most = values instanceof Float32Array ? 2 ** 24 : 2 ** 53
    for (let i = 0; i < used; i++) {
      const value = values[i]!
      if (!(value >= 0 && value <= most && Number.isInteger(value))) refuse(i, ` (${dtype})`)
      halves[2 * i] = value % 2 ** 32
      halves[2 * i + 1] = Math.floor(value / 2 ** 32)
    }
    return halves
  }
  const halves = new Uint32Array(values.buffer, values.byteOffset, used * 2)
  if (dtype === 'int64') for (let i = 0; i < used; i++) if (halves[2 * i + 1]! >= 2 ** 31) refuse(i)
  return halves
}

function denseValues(column: Column, samples: number, area: Area): Float32Array | BigInt64Array {
  const { slot } = column
  const used = countOf(column, samples)
  return slot.kind === 'dense' && slot.dtype === 'int64' ? wholeNumbers(column, used, area) : floats(column, used, area)
}

function floats(column: Column, used: number, area: Area): Float32Array {
  const { values } = column
  const { buffer, byteOffset } = area.uint32(used)
  const found = new Float32Array(buffer, byteOffset, used)
  if (values instanceof Float32Array) found.set(values.subarray(0, used))
  else for (let i = 0; i < used; i++) found[i] = Number(values[i])
  for (let i = 0; i < used; i++)
    if (!Number.isFinite(found[i])) throw bad(column, i, `expected a finite 32-bit number, found ${values[i]}`)
  return found
}

function wholeNumbers(column: Column, used: number, area: Area): BigInt64Array {
  const { values } = column
  const { buffer, byteOffset } = area.uint32(used * 2)
  const found = new BigInt64Array(buffer, byteOffset, used)
  if (values instanceof BigInt64Array) {
    found.set(values.subarray(0, used))
    return found
  }
  for (let i = 0; i < used; i++) {
    const value = values[i]!
    const fits = typeof value === 'bigint' ? value < 2n ** 63n : Number.isSafeInteger(value)
    if (!fits) throw bad(column, i, `expected a whole number of 64 bits, found ${value}`)
    found[i] = BigInt(value)
  }
  return found
}

/** How many values the first samples have. */
function countOf({ counts }: Column, samples: number): number {
  if (typeof counts === 'number') return counts * samples
  let sum = 0
  for (let i = 0; i < samples; i++) sum += counts[i]!
  return sum
}

/** About the i-th value of a field. */
function bad({ slot, counts }: Column, i: number, message: string): BadField {
  let sample = 0
  if (typeof counts === 'number') sample = Math.floor(i / counts)
  else for (let before = counts[0]!; before <= i; before += counts[sample]!) sample++
  return new BadField(sample, `slot "${slot.name}": ${message}`)
}
