/** @file Raw values as signs and numbers, by the feature of a slot. */
import { UserError } from '../../base/util/index.ts'
import type { Slot } from '../batch.ts'
import { addText, bucketOf, type Feature, type LogFeature, lanesOf } from './feature.ts'

/** One raw value: a cell, an item of a sample or of a request. */
export type Raw = string | number | bigint
export type Encoder = (raw: Raw) => number

/** What makes a slot's values of raw ones; undefined where they are taken as they are. No text at all is a missing value: 0. */
export function encoderOf({ name, feature }: Pick<Slot, 'name' | 'feature'>): Encoder | undefined {
  if (!feature || feature.kind === 'ids' || feature.kind === 'cross') return undefined
  const encode = (ENCODERS[feature.kind] as (feature: Feature | LogFeature, name: string) => Encoder)(feature, name)
  return (raw) => encode(raw === '' ? 0 : raw)
}

/** The raw field of a slot. */
export const rawName = ({ name, feature }: Pick<Slot, 'name' | 'feature'>): string =>
  feature && 'from' in feature ? feature.from : name

/** Signs of a slot that are remembered. */
const KEPT = 64 * 1024

type Coded = Exclude<Feature, { kind: 'ids' | 'cross' }> | LogFeature
const ENCODERS: {
  readonly [K in Coded['kind']]: (feature: Extract<Coded, { kind: K }>, name: string) => Encoder
} = {
  hash: ({ buckets }, name) => {
    const begun = lanesOf(name)
    return kept((raw) => {
      const lanes = { ...begun }
      addText(lanes, String(raw))
      return bucketOf(lanes, buckets)
    })
  },
  vocabulary: ({ words }) => {
    const places = new Map(words.map((word, i) => [word, i + 1]))
    return (raw) => places.get(String(raw)) ?? 0
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
  log: (_, name) => (raw) => {
    const value = numberOf(raw, name, 'log')
    return Math.sign(value) * Math.log1p(Math.abs(value))
  },
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
  const value = typeof raw === 'string' && raw.trim() === '' ? Number.NaN : Math.fround(Number(raw))
  if (Number.isFinite(value)) return value
  const found = typeof raw === 'string' ? JSON.stringify(raw.slice(0, 40)) : String(raw)
  throw new UserError(`Slot "${name}": ${kind} needs a number, found ${found}.`, { code: 'DATA_SAMPLE' })
}
