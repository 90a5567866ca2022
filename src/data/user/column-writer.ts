/** @file Samples of a user's reader, checked and appended to columns that grow. */
import { UserError } from '../../base/util/index.ts'
import type { Columns, Slot } from '../batch.ts'
import { baseSlots, crossedSigns, withCrosses } from '../features/columns.ts'
import { type Encoder, encoderOf, rawName } from '../features/encode.ts'
import { SignList } from '../features/sign-list.ts'
import { absentSlot } from '../text/compare-slots.ts'
import type { Sample, SampleValue } from './rec-dataset.ts'

export interface ColumnWriter {
  readonly samples: number
  /** With those that crosses add. */
  readonly signs: number
  /** Appends a sample; a sample that does not fit the slots throws and leaves the columns as they were. */
  add(sample: Sample): void
  /** Throws when no sample so far has had a slot that must be there. */
  checkGiven(): void
  /** The columns so far and undeclared names seen since; starts again. Valid until the next add. */
  take(): { readonly columns: Columns; readonly ignored: readonly string[] }
}

type Scalar = number | bigint | string

export function createColumnWriter(all: readonly Slot[]): ColumnWriter {
  const [slots, whole, crossedOf] = [baseSlots(all), withCrosses(all), crossedSigns(all)]
  const parts = slots.map((slot) => ({ slot, encode: encoderOf(slot), isPlain: isPlain(slot) }))
  const dense = slots.filter((slot) => slot.kind === 'dense')
  const sparse = slots.length - dense.length
  const input = createSampleInput(slots)
  let samples = 0
  let counts = new Uint32Array(FIRST_SAMPLES * sparse)
  let starts = new Uint32Array(FIRST_SAMPLES + 1)
  let signs = new SignList(FIRST_SAMPLES * sparse)
  let crossed = 0
  let values: (number | bigint)[][] = dense.map(() => [])

  const append = (sample: Sample): void => {
    const found = input.valuesOf(sample)
    const isList = Array.isArray(sample)
    let [sparseAt, denseAt] = [samples * sparse, 0]
    for (const [i, { slot, encode, isPlain: plain }] of parts.entries()) {
      const value = found[i]
      const isGiven = isList || value !== undefined
      if (slot.kind === 'dense') {
        const list = isGiven ? itemsOf(slot, value!) : missing(slot)
        for (const number of parseDense(slot, list, encode)) values[denseAt]!.push(number)
        denseAt++
        continue
      }
      const before = signs.length
      if (!isGiven) addSign(signs, slot, 0, encode)
      else if (plain && (typeof value !== 'object' || value === null)) addSign(signs, slot, value!, undefined)
      else for (const item of itemsOf(slot, value!)) addSign(signs, slot, item, encode)
      if (signs.length === before)
        throw bad(`Slot "${slot.name}": the number of ids can not be zero, you need padding.`)
      counts[sparseAt++] = signs.length - before
    }
  }
  return {
    get samples() {
      return samples
    },
    get signs() {
      return signs.length + crossed
    },
    add: (sample) => {
      if ((samples + 1) * sparse > counts.length) counts = larger(counts)
      if (samples + 1 >= starts.length) starts = larger(starts)
      try {
        append(sample)
        if (all.length > slots.length)
          crossed += crossedOf([...counts.subarray(samples * sparse, (samples + 1) * sparse)], 0)
      } catch (error) {
        signs.cut(starts[samples]!)
        for (const [d, { width }] of dense.entries()) values[d]!.length = samples * width
        throw error
      }
      starts[++samples] = signs.length
    },
    checkGiven: () => input.checkGiven(),
    take: () => {
      const columns = {
        samples,
        counts: counts.slice(0, samples * sparse),
        starts: starts.slice(0, samples + 1),
        signs: signs.values(),
        dense: dense.map(({ dtype }, d) =>
          dtype === 'float32' ? Float32Array.from(values[d] as number[]) : BigInt64Array.from(values[d] as bigint[]),
        ),
      }
      samples = 0
      signs = new SignList(signs.length)
      crossed = 0
      values = dense.map(() => [])
      return { columns: whole(columns), ignored: input.takeIgnored() }
    },
  }
}

const FIRST_SAMPLES = 16

function larger(list: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const twice = new Uint32Array(2 * list.length)
  twice.set(list)
  return twice
}

/** Its ids are numbers as they stand. */
const isPlain = (slot: Slot) => slot.feature === undefined

function addSign(signs: SignList, slot: Slot, value: Scalar, encode: Encoder | undefined): void {
  if (encode) signs.addBigint(BigInt(encode(value)))
  else if (typeof value === 'number' && value >= 0 && Number.isSafeInteger(value)) signs.addNumber(value)
  else if (typeof value !== 'string' || !signs.addDigits(value))
    signs.addBigint(parseInteger(slot.name, value, 0n, 2n ** 64n - 1n))
}

/** Samples as values in slot order, undefined where an object has none; remembers the names that no slot has. */
function createSampleInput(slots: readonly Slot[]) {
  const inOrder = slots.map(rawName)
  const names = new Set(inOrder)
  /** Several slots may be made of one. */
  const isFirst = inOrder.map((name, i) => inOrder.indexOf(name) === i)
  const reported = new Set<string>()
  /** Slots that no sample has had so far; of samples that are lists none is missing. */
  const never = new Set(slots.filter(({ required }) => required !== false).map(rawName))
  const found = new Array<SampleValue | undefined>(slots.length)
  let ignored: string[] = []
  let seen = 0
  return {
    checkGiven: () => {
      const [name] = never
      if (name === undefined || seen === 0) return
      never.clear()
      const { message, hint } = absentSlot(name, [...reported], `none of its first ${seen} samples`)
      throw bad(`${message[0]!.toUpperCase()}${message.slice(1)}.`, hint)
    },
    /** Valid until the next call. */
    valuesOf: (sample: Sample): readonly (SampleValue | undefined)[] => {
      seen++
      if (Array.isArray(sample)) {
        never.clear()
        return inSlotOrder(sample, slots)
      }
      if (typeof sample !== 'object' || sample === null)
        throw bad(`A sample must be an array or an object, found ${show(sample)}.`)
      const byName = sample as Readonly<Record<string, SampleValue>>
      let given = 0
      for (let i = 0; i < inOrder.length; i++) {
        found[i] = byName[inOrder[i]!]
        if (isFirst[i] && found[i] !== undefined) given++
      }
      const all = Object.keys(sample)
      if (all.length !== given)
        for (const name of all) {
          if (names.has(name) || reported.has(name)) continue
          reported.add(name)
          ignored.push(name)
        }
      for (const name of never) if (byName[name] !== undefined) never.delete(name)
      return found
    },
    takeIgnored: (): readonly string[] => {
      const taken = ignored
      ignored = []
      return taken
    },
  }
}

function inSlotOrder(sample: readonly SampleValue[], slots: readonly Slot[]): readonly SampleValue[] {
  if (sample.length === slots.length) return sample
  const sparse = slots.filter(({ kind }) => kind === 'sparse').length
  const kinds = `${sparse} sparse, ${slots.length - sparse} dense`
  throw bad(`A sample must have one entry per slot, ${slots.length} (${kinds}), found ${sample.length}.`)
}

function listOf(value: SampleValue): readonly Scalar[] {
  return typeof value === 'object' && value !== null ? Array.from(value) : [value]
}

/** Several ids may stand in one text. */
function itemsOf(slot: Slot, value: SampleValue): readonly Scalar[] {
  const list = listOf(value)
  if (slot.feature?.kind !== 'ids' || list.length === 0) return list
  const { split } = slot.feature
  const items = list.flatMap((item): readonly Scalar[] => (typeof item === 'string' ? item.split(split) : [item]))
  const given = items.filter((item) => item !== '')
  return given.length === 0 ? missing(slot) : given
}

/** As in slot text. */
function missing(slot: Slot): readonly Scalar[] {
  return slot.kind === 'sparse' ? [0] : new Array<number>(slot.width).fill(0)
}

function parseDense(
  slot: Extract<Slot, { kind: 'dense' }>,
  list: readonly Scalar[],
  encode: Encoder | undefined,
): readonly (number | bigint)[] {
  if (list.length !== slot.width) throw bad(`Slot "${slot.name}": expected ${slot.width} values, found ${list.length}.`)
  if (encode) return list.map((value) => Math.fround(encode(value)))
  if (slot.dtype === 'int64') return list.map((value) => parseInteger(slot.name, value, -(2n ** 63n), 2n ** 63n - 1n))
  return list.map((value) => {
    const number = typeof value === 'number' ? Math.fround(value) : Number.NaN
    if (Number.isFinite(number)) return number
    throw bad(`Slot "${slot.name}": expected a finite 32-bit number, found ${show(value)}.`)
  })
}

function parseInteger(name: string, value: Scalar, min: bigint, max: bigint): bigint {
  const exact =
    typeof value === 'bigint' ||
    (typeof value === 'number' && Number.isSafeInteger(value)) ||
    /^-?\d+$/.test(String(value))
  const large = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
  if (large) throw bad(`Slot "${name}": ${value} is above 2^53: give it as a bigint or as text, or digits are lost.`)
  const integer = exact ? BigInt(value) : undefined
  if (integer !== undefined && integer >= min && integer <= max) return integer
  throw bad(`Slot "${name}": expected a whole number from ${min} to ${max}, found ${show(value)}.`)
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : String(value)
}

function bad(message: string, hint?: string): UserError {
  return new UserError(message, { code: 'DATA_SAMPLE', hint })
}
