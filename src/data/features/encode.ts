/** @file Raw values as signs and numbers, by the feature of a slot. */
import { UserError } from '../../base/util/index.ts'
import type { Slot } from '../batch.ts'
import { exactDigits } from './digits.ts'
import { addText, bucketOf, type Feature, type LogFeature, lanesOf, step } from './feature.ts'
import { signedLog } from './log.ts'

/** One raw value: a cell, an item of a sample or of a request. */
export type Raw = string | number | bigint
export type Encoder = (raw: Raw) => number

/** What makes a slot's values of raw ones; undefined where they are taken as they are. No text at all is a missing value: 0. */
export function encoderOf({ name, feature }: Pick<Slot, 'name' | 'feature'>): Encoder | undefined {
  if (!feature || feature.kind === 'ids' || feature.kind === 'cross') return undefined
  const encode = (ENCODERS[feature.kind] as (feature: Feature | LogFeature, name: string) => Encoder)(feature, name)
  return (raw) => encode(raw === '' ? 0 : raw)
}

/** The same for ids of text, as their lower and upper 32 bits; a digit or two of arithmetic, where a text of each id would be made first. */
export type IdEncoder = (low: number, high: number) => number

export function idEncoderOf(slot: Pick<Slot, 'name' | 'feature'>): IdEncoder | undefined {
  const encode = encoderOf(slot)
  if (!encode) return undefined
  const { name, feature } = slot
  const small =
    feature!.kind === 'hash' ? digitsHash(name, feature!) : feature!.kind === 'vocabulary' ? placeOf(feature!) : encode
  return (low, high) => (high < 2 ** 21 ? small(high * 2 ** 32 + low) : encode((BigInt(high) << 32n) | BigInt(low)))
}

/** As ENCODERS.hash of the digits, for whole numbers below 2^53. */
function digitsHash(name: string, { buckets }: Extract<Feature, { kind: 'hash' }>): (value: number) => number {
  const begun = lanesOf(name)
  const digits = new Uint8Array(16)
  return (value) => {
    let first = digits.length
    let rest = value
    do {
      const tens = Math.floor(rest / 10)
      digits[--first] = ZERO + (rest - 10 * tens)
      rest = tens
    } while (rest > 0)
    let { a, b } = begun
    for (; first < digits.length; first++) {
      a = step(a, digits[first]!)
      b = step(b, digits[first]!)
    }
    return bucketOf({ a, b }, buckets)
  }
}

const ZERO = 48 // the digit's code

function placeOf({ words }: Extract<Feature, { kind: 'vocabulary' }>): (value: number) => number {
  const places = new Map(
    words.flatMap((word, i) => (String(Number(word)) === word ? [[Number(word), i + 1] as const] : [])),
  )
  return (value) => places.get(value) ?? 0
}

/** The raw field of a slot. */
export const rawName = ({ name, feature }: Pick<Slot, 'name' | 'feature'>): string =>
  feature && 'from' in feature ? feature.from : name

/** Signs of a slot that are remembered. */
const KEPT = 64 * 1024
const SHORT = 24

type Coded = Exclude<Feature, { kind: 'ids' | 'cross' }> | LogFeature
const ENCODERS: {
  readonly [K in Coded['kind']]: (feature: Extract<Coded, { kind: K }>, name: string) => Encoder
} = {
  hash: (feature, name) => {
    const { buckets } = feature
    const begun = lanesOf(name)
    const ofDigits = digitsHash(name, feature)
    const long = kept((raw) => {
      const lanes = { ...begun }
      addText(lanes, String(raw))
      return bucketOf(lanes, buckets)
    })
    return (raw) => {
      // Digits and a short text are hashed sooner than found among those that are remembered.
      const id = wholeId(raw)
      if (id >= 0) return ofDigits(id)
      if (typeof raw !== 'string' || raw.length > SHORT) return long(raw)
      let { a, b } = begun
      for (let i = 0; i < raw.length; i++) {
        const code = raw.charCodeAt(i)
        if (code > 0x7f) return long(raw)
        a = step(a, code)
        b = step(b, code)
      }
      return bucketOf({ a, b }, buckets)
    }
  },
  vocabulary: (feature) => {
    const places = new Map(feature.words.map((word, i) => [word, i + 1]))
    const place = placeOf(feature)
    return (raw) => {
      const id = wholeId(raw)
      if (id > 0) return place(id)
      const text = String(raw)
      const digits = exactDigits(text)
      // By the number where the text is one as numbers are written: its hash need not be made.
      return digits > 0 && text.charCodeAt(0) !== ZERO ? place(digits) : (places.get(text) ?? 0)
    }
  },
  bucketise: ({ boundaries }, name) => {
    const bounds = Float64Array.from(boundaries)
    return (raw) => {
      const value = numberOf(raw, name, 'bucketise')
      let [low, high] = [0, bounds.length]
      while (low < high) {
        const middle = (low + high) >>> 1
        if (bounds[middle]! <= value) low = middle + 1
        else high = middle
      }
      return low
    }
  },
  log: (_, name) => (raw) => signedLog(numberOf(raw, name, 'log')),
}

/** An id of a table or a request that a double holds exactly, as a number: no text need be made of it; -1 for anything else. */
function wholeId(raw: Raw): number {
  if (typeof raw === 'string') return -1
  const id = Number(raw)
  return Number.isSafeInteger(id) && id >= 0 ? id : -1
}

/** Frequent values are hashed once. */
function kept(encode: Encoder): Encoder {
  const known = new Map<Raw, number>()
  return (raw) => {
    const found = known.get(raw)
    if (found !== undefined) return found
    const sign = encode(raw)
    if (known.size >= KEPT) known.clear()
    known.set(raw, sign)
    return sign
  }
}

/** Text that is a number is one; numbers are rounded as the reader of text rounds them, so that all readers agree. */
function numberOf(raw: Raw, name: string, kind: string): number {
  const value = Math.fround(Number(raw))
  // White space counts as 0 in JavaScript.
  if (Number.isFinite(value) && (value !== 0 || typeof raw !== 'string' || raw.trim() !== '')) return value
  const found = typeof raw === 'string' ? JSON.stringify(raw.slice(0, 40)) : String(raw)
  throw new UserError(`Slot "${name}": ${kind} needs a number, found ${found}.`, { code: 'DATA_SAMPLE' })
}
