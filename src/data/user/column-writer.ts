/** @file Samples of a user's reader, checked and appended to columns that grow. */
import { UserError } from '../../base/util/index.ts'
import type { Columns, Slot } from '../batch.ts'
import { baseSlots, crossedSigns, withCrosses } from '../features/columns.ts'
import { type Encoder, encoderOf, rawName } from '../features/encode.ts'
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
  const encoders = slots.map(encoderOf)
  const dense = slots.filter((slot) => slot.kind === 'dense')
  const input = createSampleInput(slots)
  let counts: number[] = []
  let starts: number[] = [0]
  let signs: bigint[] = []
  let crossed = 0
  let values: (number | bigint)[][] = dense.map(() => [])
  return {
    get samples() {
      return starts.length - 1
    },
    get signs() {
      return signs.length + crossed
    },
    add: (sample) => {
      const parsed = input.valuesOf(sample).map((list, i) => parseSlot(slots[i]!, list, encoders[i]))
      const lengths = parsed.flatMap(({ length }, i) => (slots[i]!.kind === 'sparse' ? [length] : []))
      crossed += crossedOf(lengths, 0)
      let denseIndex = 0
      for (const [i, list] of parsed.entries()) {
        if (slots[i]!.kind === 'dense') values[denseIndex++]!.push(...list)
        else {
          counts.push(list.length)
          for (const value of list) signs.push(value as bigint)
        }
      }
      starts.push(signs.length)
    },
    checkGiven: () => input.checkGiven(),
    take: () => {
      const columns = {
        samples: starts.length - 1,
        counts: Uint32Array.from(counts),
        starts: Uint32Array.from(starts),
        signs: BigUint64Array.from(signs),
        dense: dense.map(({ dtype }, d) =>
          dtype === 'float32' ? Float32Array.from(values[d] as number[]) : BigInt64Array.from(values[d] as bigint[]),
        ),
      }
      counts = []
      starts = [0]
      signs = []
      crossed = 0
      values = dense.map(() => [])
      return { columns: whole(columns), ignored: input.takeIgnored() }
    },
  }
}

/** Samples as lists of values in slot order; remembers the names that no slot has. */
function createSampleInput(slots: readonly Slot[]) {
  const names = new Set(slots.map(rawName))
  const reported = new Set<string>()
  /** Slots that no sample has had so far; of samples that are lists none is missing. */
  const never = new Set(slots.filter(({ required }) => required !== false).map(rawName))
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
    valuesOf: (sample: Sample): readonly (readonly Scalar[])[] => {
      seen++
      if (Array.isArray(sample)) {
        never.clear()
        return inSlotOrder(sample, slots)
      }
      if (typeof sample !== 'object' || sample === null)
        throw bad(`A sample must be an array or an object, found ${show(sample)}.`)
      for (const name of Object.keys(sample)) {
        if (names.has(name) || reported.has(name)) continue
        reported.add(name)
        ignored.push(name)
      }
      const byName = sample as Readonly<Record<string, SampleValue>>
      for (const name of never) if (byName[name] !== undefined) never.delete(name)
      return slots.map((slot) => {
        const value = byName[rawName(slot)]
        return value === undefined ? missing(slot) : itemsOf(slot, value)
      })
    },
    takeIgnored: (): readonly string[] => {
      const taken = ignored
      ignored = []
      return taken
    },
  }
}

function inSlotOrder(sample: readonly SampleValue[], slots: readonly Slot[]): readonly (readonly Scalar[])[] {
  if (sample.length === slots.length) return sample.map((value, i) => itemsOf(slots[i]!, value))
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

function parseSlot(slot: Slot, list: readonly Scalar[], encode: Encoder | undefined): readonly (number | bigint)[] {
  if (slot.kind === 'sparse') {
    if (list.length === 0) throw bad(`Slot "${slot.name}": the number of ids can not be zero, you need padding.`)
    if (encode) return list.map((value) => BigInt(encode(value)))
    return list.map((value) => parseInteger(slot.name, value, 0n, 2n ** 64n - 1n))
  }
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
