/** @file The fields of a frame as columns, checked against the slots: nothing is filled in, nothing is rounded without a word. */
import type { Columns, Slot } from '../batch.ts'
import type { Field, FieldType, Frame, SamplesHeader } from './frames.ts'

/** A sample that does not fit the slots, by its place in the frame. */
export class BadField extends Error {
  readonly sample: number

  constructor(sample: number, message: string) {
    super(message)
    this.sample = sample
  }
}

type Numbers = BigInt64Array | BigUint64Array | Float32Array | Float64Array

interface Column {
  readonly slot: Slot
  readonly dtype: FieldType
  readonly values: Numbers
  /** Values of each sample: one number for all, or one each. */
  readonly counts: number | Uint32Array
}

const ARRAYS = { int64: BigInt64Array, uint64: BigUint64Array, float32: Float32Array, float64: Float64Array } as const

/** Columns of the first `samples` samples of a frame; throws BadField for the first sample that does not fit. */
export function columnsOf(slots: readonly Slot[], frame: Frame, header: SamplesHeader, samples: number): Columns {
  const columns = fieldsOf(slots, frame.payload, header)
  const found = columns.map((column) => badCount(column, samples)).filter((bad) => bad !== undefined)
  const first = found.sort((a, b) => a.sample - b.sample)[0]
  if (first) throw first
  const sparse = columns.filter(({ slot }) => slot.kind === 'sparse')
  const dense = columns.flatMap((column) => (column.slot.kind === 'dense' ? [denseValues(column, samples)] : []))
  return { samples, ...signsOf(sparse, samples), dense }
}

function fieldsOf(slots: readonly Slot[], payload: Uint8Array, { fields, samples }: SamplesHeader): readonly Column[] {
  let at = payload.byteOffset
  const take = (bytes: number) => {
    at += Math.ceil(bytes / 8) * 8
    return at - Math.ceil(bytes / 8) * 8
  }
  return fields.map(({ dtype, width, values }: Field, i) => {
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
function signsOf(columns: readonly Column[], samples: number): Pick<Columns, 'counts' | 'starts' | 'signs'> {
  const slots = columns.length
  const counts = new Uint32Array(samples * slots)
  const starts = new Uint32Array(samples + 1)
  for (const [s, { counts: own }] of columns.entries()) {
    if (typeof own === 'number') for (let i = s; i < counts.length; i += slots) counts[i] = own
    else for (let i = 0; i < samples; i++) counts[i * slots + s] = own[i]!
  }
  for (let i = 0, at = 0; i < samples; i++) {
    for (const end = at + slots; at < end; at++) starts[i + 1]! += counts[at]!
    starts[i + 1]! += starts[i]!
  }
  const signs = new BigUint64Array(starts[samples]!)
  const halves = new Uint32Array(signs.buffer)
  const to = starts.slice(0, samples)
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
  return { counts, starts, signs }
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

function denseValues(column: Column, samples: number): Float32Array | BigInt64Array {
  const { slot, values } = column
  const used = countOf(column, samples)
  return slot.kind === 'dense' && slot.dtype === 'int64'
    ? wholeNumbers(column, values, used)
    : floats(column, values, used)
}

function floats(column: Column, values: Numbers, used: number): Float32Array {
  const found = values instanceof Float32Array ? values.slice(0, used) : new Float32Array(used)
  if (!(values instanceof Float32Array)) for (let i = 0; i < used; i++) found[i] = Number(values[i])
  for (let i = 0; i < used; i++)
    if (!Number.isFinite(found[i])) throw bad(column, i, `expected a finite 32-bit number, found ${values[i]}`)
  return found
}

function wholeNumbers(column: Column, values: Numbers, used: number): BigInt64Array {
  if (values instanceof BigInt64Array) return values.slice(0, used)
  const found = new BigInt64Array(used)
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
