/** @file Columns with their features: raw ids and numbers of text become signs and values, crosses are added. */
import type { Columns, Slot } from '../batch.ts'
import { encoderOf, rawName } from './encode.ts'
import { addWord, bucketOf, lanesOf } from './feature.ts'

type Convert = (columns: Columns) => Columns
type SparseSlot = Extract<Slot, { kind: 'sparse' }>

const same: Convert = (columns) => columns
const isCross = ({ feature }: Slot) => feature?.kind === 'cross'

/** What samples have: all slots but crosses. */
export function baseSlots(slots: readonly Slot[]): readonly Slot[] {
  return slots.some(isCross) ? slots.filter((slot) => !isCross(slot)) : slots
}

/** The raw fields of text, where everything is a number: whole ones for ids and words, others for what is measured. */
export function textSlots(slots: readonly Slot[]): readonly Slot[] {
  if (!slots.some(({ feature }) => feature)) return slots
  const base = baseSlots(slots)
  const fields = new Map<string, Slot>()
  for (const slot of base) {
    const name = rawName(slot)
    const known = fields.get(name)
    const isNumber = slot.feature ? MEASURED.has(slot.feature.kind) : slot.kind === 'dense'
    // A field that is an id too is read as one: its whole number is measured.
    if (known && (known.kind === 'sparse' || isNumber)) continue
    const required = slot.required
    const plain = slot.feature ? undefined : slot
    if (isNumber) fields.set(name, plain ?? { kind: 'dense', name, width: 1, dtype: 'float32', required })
    else fields.set(name, { kind: 'sparse', name, required })
  }
  return [...fields.values()]
}

const MEASURED: ReadonlySet<string> = new Set(['bucketise', 'log'])

/** From columns of textSlots to those of baseSlots. */
export function fromText(slots: readonly Slot[]): Convert {
  if (!slots.some(({ feature }) => feature && feature.kind !== 'cross')) return same
  const [base, raw] = [baseSlots(slots), textSlots(slots)]
  const rawSparse = raw.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
  const rawDense = raw.filter(({ kind }) => kind === 'dense').map(({ name }) => name)
  const parts = base.map((slot) => {
    const name = rawName(slot)
    return { slot, encode: encoderOf(slot), sparse: rawSparse.indexOf(name), dense: rawDense.indexOf(name) }
  })
  const sparse = parts.filter(({ slot }) => slot.kind === 'sparse')
  const dense = parts.filter(({ slot }) => slot.kind === 'dense')
  return (columns) => {
    const { samples } = columns
    const counts = new Uint32Array(samples * sparse.length)
    const starts = new Uint32Array(samples + 1)
    const signs = growing(columns.starts[samples]! + samples * sparse.length)
    const ends = new Uint32Array(rawSparse.length + 1)
    for (let i = 0; i < samples; i++) {
      ends[0] = columns.starts[i]!
      for (let s = 0; s < rawSparse.length; s++) ends[s + 1] = ends[s]! + columns.counts[i * rawSparse.length + s]!
      for (let s = 0; s < sparse.length; s++) {
        const part = sparse[s]!
        const before = signs.length
        if (part.sparse < 0) signs.addNumber(part.encode!(Number(columns.dense[part.dense]![i])))
        else
          for (let at = ends[part.sparse]!; at < ends[part.sparse + 1]!; at++) {
            if (part.encode) signs.addNumber(part.encode(columns.signs[at]!))
            else signs.add(columns.signs[at]!)
          }
        counts[i * sparse.length + s] = signs.length - before
      }
      starts[i + 1] = signs.length
    }
    const values = dense.map(({ encode, sparse: id, dense: own }) => {
      if (!encode && own >= 0) return columns.dense[own]!
      const out = new Float32Array(samples)
      for (let i = 0; i < samples; i++)
        out[i] = encode!(own >= 0 ? Number(columns.dense[own]![i]) : firstOf(columns, i, id, rawSparse.length))
      return out
    })
    return { samples, counts, starts, signs: signs.values(), dense: values }
  }
}

function firstOf({ starts, counts, signs }: Columns, sample: number, slot: number, slots: number): number {
  let at = starts[sample]!
  for (let s = 0; s < slot; s++) at += counts[sample * slots + s]!
  return Number(signs[at]!)
}

/** From columns of baseSlots to those of all slots: combinations of signs. */
export function withCrosses(slots: readonly Slot[]): Convert {
  if (!slots.some(isCross)) return same
  const sparse = slots.filter((slot): slot is SparseSlot => slot.kind === 'sparse')
  const own = sparse.filter((slot) => !isCross(slot)).map(({ name }) => name)
  const plans = sparse.map(({ name, feature }) =>
    feature?.kind === 'cross'
      ? { of: feature.of.map((one) => own.indexOf(one)), buckets: feature.buckets, begun: lanesOf(name), from: -1 }
      : { of: [], buckets: 0, begun: lanesOf(''), from: own.indexOf(name) },
  )
  return (columns) => {
    const { samples } = columns
    const counts = new Uint32Array(samples * sparse.length)
    const starts = new Uint32Array(samples + 1)
    const signs = growing(columns.starts[samples]! + samples * (sparse.length - own.length))
    const words = new Uint32Array(columns.signs.buffer, columns.signs.byteOffset, 2 * columns.signs.length)
    const ends = new Uint32Array(own.length + 1)
    for (let i = 0; i < samples; i++) {
      ends[0] = columns.starts[i]!
      for (let s = 0; s < own.length; s++) ends[s + 1] = ends[s]! + columns.counts[i * own.length + s]!
      for (const [s, { of, buckets, begun, from }] of plans.entries()) {
        const before = signs.length
        const combine = (place: number, a: number, b: number): void => {
          if (place === of.length) {
            signs.addNumber(bucketOf({ a, b }, buckets))
            return
          }
          for (let at = ends[of[place]!]!; at < ends[of[place]! + 1]!; at++) {
            const lanes = { a, b }
            addWord(lanes, words[2 * at]!)
            addWord(lanes, words[2 * at + 1]!)
            combine(place + 1, lanes.a, lanes.b)
          }
        }
        if (from < 0) combine(0, begun.a, begun.b)
        else for (let at = ends[from]!; at < ends[from + 1]!; at++) signs.add(columns.signs[at]!)
        counts[i * sparse.length + s] = signs.length - before
      }
      starts[i + 1] = signs.length
    }
    return { ...columns, counts, starts, signs: signs.values() }
  }
}

/** Signs in an array that grows; small numbers without a bigint. */
function growing(room: number) {
  let values = new BigUint64Array(Math.max(16, room))
  let words = new Uint32Array(values.buffer)
  let length = 0
  const reserve = () => {
    if (length < values.length) return
    const larger = new BigUint64Array(2 * values.length)
    larger.set(values)
    values = larger
    words = new Uint32Array(values.buffer)
  }
  return {
    get length() {
      return length
    },
    add(sign: bigint) {
      reserve()
      values[length++] = sign
    },
    addNumber(value: number) {
      reserve()
      words[2 * length] = value
      words[2 * length + 1] = value / 2 ** 32
      length++
    },
    values: () => values.subarray(0, length),
  }
}
