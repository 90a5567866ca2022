/** @file Columns with their features: raw ids and numbers of text become signs and values, crosses are added. */
import { MOST_CROSSED } from '../../base/kernel/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { Columns, Slot } from '../batch.ts'
import { encoderOf, idEncoderOf, rawName } from './encode.ts'
import { bucketOf, lanesOf, step } from './feature.ts'
import { SignList } from './sign-list.ts'

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
    if (known?.kind === 'sparse') continue
    const required = slot.required
    const width = Math.max(known?.width ?? 1, slot.kind === 'dense' ? slot.width : 1)
    if (!isNumber) fields.set(name, { kind: 'sparse', name, required })
    else if (slot.kind === 'dense' && !slot.feature) fields.set(name, { ...slot, width })
    else fields.set(name, known ? { ...known, width } : { kind: 'dense', name, width, dtype: 'float32', required })
  }
  return [...fields.values()]
}

const MEASURED: ReadonlySet<string> = new Set(['bucketise', 'log'])

/**
 * From columns of textSlots to those of baseSlots. Signs are copied as pairs of 32-bit words: a bigint for each would take longer than
 * parsing the text.
 */
export function fromText(slots: readonly Slot[]): Convert {
  if (!slots.some(({ feature }) => feature && feature.kind !== 'cross')) return same
  const [base, raw] = [baseSlots(slots), textSlots(slots)]
  const rawSparse = raw.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
  const rawDense = raw.filter((slot) => slot.kind === 'dense')
  const parts = base.map((slot) => {
    const name = rawName(slot)
    const dense = rawDense.findIndex((field) => field.name === name)
    return {
      width: slot.kind === 'dense' ? slot.width : 1,
      isSparse: slot.kind === 'sparse',
      encode: encoderOf(slot),
      encodeId: idEncoderOf(slot),
      sparse: rawSparse.indexOf(name),
      dense,
      rawWidth: rawDense[dense]?.width ?? 1,
    }
  })
  const sparse = parts.filter(({ isSparse }) => isSparse)
  const runs = runsOf(sparse.map(({ sparse: id, encodeId }) => (id >= 0 && !encodeId ? id : -1)))
  const dense = parts.filter(({ isSparse }) => !isSparse)
  return (columns) => {
    const { samples } = columns
    const counts = new Uint32Array(samples * sparse.length)
    const starts = new Uint32Array(samples + 1)
    const words = wordsOf(columns.signs)
    const signs = new SignList(columns.starts[samples]! + samples * sparse.length)
    const ends = new Uint32Array(rawSparse.length + 1)
    for (let i = 0; i < samples; i++) {
      endsOf(columns, i, ends)
      for (let s = 0; s < sparse.length; s += runs[s]!) {
        const { sparse: id, dense: number, encode, encodeId, rawWidth } = sparse[s]!
        const before = signs.length
        if (id >= 0 && !encodeId) {
          signs.copy(words, ends[id]!, ends[id + runs[s]!]!)
          copyCounts(columns.counts, i * rawSparse.length + id, counts, i * sparse.length + s, runs[s]!)
          continue
        }
        if (id < 0) signs.addNumber(encode!(Number(columns.dense[number]![i * rawWidth])))
        else
          for (let at = ends[id]!; at < ends[id + 1]!; at++)
            signs.addNumber(encodeId!(words[2 * at]!, words[2 * at + 1]!))
        counts[i * sparse.length + s] = signs.length - before
      }
      starts[i + 1] = signs.length
    }
    const values = dense.map(({ encode, sparse: id, dense: own, width, rawWidth }) => {
      if (!encode && own >= 0 && width === rawWidth) return columns.dense[own]!
      const out = new Float32Array(samples * width)
      for (let i = 0; i < samples; i++)
        for (let w = 0; w < width; w++) {
          const value =
            own >= 0 ? Number(columns.dense[own]![i * rawWidth + w]) : idAt(columns, rawSparse.length, i, id, w)
          out[i * width + w] = encode ? encode(value) : value
        }
      return out
    })
    return { samples, counts, starts, signs: signs.values(), dense: values }
  }
}

/** Of places among other columns, -1 where a slot is made: how many slots from each on are copied at once. */
function runsOf(places: readonly number[]): readonly number[] {
  return places.map((place, s) => {
    let length = 1
    while (place >= 0 && s + length < places.length && places[s + length] === place + length) length++
    return length
  })
}

function copyCounts(from: Uint32Array, at: number, to: Uint32Array, place: number, length: number): void {
  for (let i = 0; i < length; i++) to[place + i] = from[at + i]!
}

const wordsOf = ({ buffer, byteOffset, length }: BigUint64Array) => new Uint32Array(buffer, byteOffset, 2 * length)

/** Where the signs of each slot of a sample end; the first is where they begin. */
function endsOf({ starts, counts }: Columns, sample: number, ends: Uint32Array): void {
  const slots = ends.length - 1
  let end = starts[sample]!
  ends[0] = end
  for (let s = 0; s < slots; s++) {
    end += counts[sample * slots + s]!
    ends[s + 1] = end
  }
}

/** An id of a sample as a number, 0 where there are fewer; for the few fields that are ids and measured too. */
function idAt(columns: Columns, slots: number, sample: number, slot: number, index: number): number {
  let at = columns.starts[sample]!
  for (let s = 0; s < slot; s++) at += columns.counts[sample * slots + s]!
  return index < columns.counts[sample * slots + slot]! ? Number(columns.signs[at + index]!) : 0
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
  const runs = runsOf(plans.map(({ from }) => from))
  return (columns) => {
    const { samples } = columns
    const counts = new Uint32Array(samples * sparse.length)
    const starts = new Uint32Array(samples + 1)
    const signs = new SignList(columns.starts[samples]! + samples * (sparse.length - own.length))
    const words = wordsOf(columns.signs)
    const ends = new Uint32Array(own.length + 1)
    const combine = (of: readonly number[], buckets: number, place: number, a: number, b: number): void => {
      if (place === of.length) {
        signs.addNumber(bucketOf({ a, b }, buckets))
        return
      }
      const slot = of[place]!
      for (let at = ends[slot]!; at < ends[slot + 1]!; at++) {
        const [low, high] = [words[2 * at]!, words[2 * at + 1]!]
        combine(of, buckets, place + 1, step(step(a, low), high), step(step(b, low), high))
      }
    }
    for (let i = 0; i < samples; i++) {
      endsOf(columns, i, ends)
      for (let s = 0; s < plans.length; s += runs[s]!) {
        const { of, buckets, begun, from } = plans[s]!
        const before = signs.length
        if (from < 0) {
          const lengths = of.map((slot) => ends[slot + 1]! - ends[slot]!)
          const crossed = lengths.reduce((product, length) => product * length, 1)
          if (before + crossed > MOST_CROSSED) throw tooManyCrossed(sparse[s]!.name, lengths, crossed, i + 1)
          combine(of, buckets, 0, begun.a, begun.b)
          counts[i * sparse.length + s] = signs.length - before
        } else {
          signs.copy(words, ends[from]!, ends[from + runs[s]!]!)
          copyCounts(columns.counts, i * own.length + from, counts, i * sparse.length + s, runs[s]!)
        }
      }
      starts[i + 1] = signs.length
    }
    return { ...columns, counts, starts, signs: signs.values() }
  }
}

/**
 * How many signs the crosses add to a sample, of which `counts` from `at` on says how many signs its slots have, crosses aside; throws where they are
 * more than a memory holds. Asked for as a sample is read, while its place is known.
 */
export function crossedSigns(slots: readonly Slot[]): (counts: ArrayLike<number>, at: number) => number {
  const own = baseSlots(slots).flatMap(({ kind, name }) => (kind === 'sparse' ? [name] : []))
  const crosses = slots.flatMap(({ name, feature }) =>
    feature?.kind === 'cross' ? [{ name, of: feature.of.map((one) => own.indexOf(one)) }] : [],
  )
  return (counts, at) => {
    let sum = 0
    for (const { name, of } of crosses) {
      let crossed = 1
      for (const slot of of) crossed *= counts[at + slot]!
      sum += crossed
      if (sum <= MOST_CROSSED) continue
      throw tooManyCrossed(
        name,
        of.map((slot) => counts[at + slot]!),
        crossed,
        1,
      )
    }
    return sum
  }
}

export const CROSS_LESS = 'Cross slots that have fewer values in a sample.'

export function tooManyCrossed(name: string, lengths: readonly number[], crossed: number, samples: number): UserError {
  const sample = `a sample that has ${lengths.join(' and ')} values to cross`
  const what = crossed > MOST_CROSSED ? sample : `${sample}, the last of ${samples} read at once`
  return new UserError(`Slot "${name}": more than ${MOST_CROSSED} signs, with ${what}.`, {
    code: 'DATA_SAMPLE',
    hint: CROSS_LESS,
  })
}
