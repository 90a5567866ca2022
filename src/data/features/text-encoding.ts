/** @file Features of text as the kernel that parses it makes them: what fromText and withCrosses do with columns, as its plan. */
import type { SignSource, TextEncoding, ValueSource } from '../../base/kernel/index.ts'
import type { Slot } from '../batch.ts'
import { textSlots } from './columns.ts'
import { rawName } from './encode.ts'
import { lanesOf } from './feature.ts'

type SparseSlot = Extract<Slot, { kind: 'sparse' }>

/** From slots of textSlots to `slots`; undefined where they are the same. */
export function textEncoding(slots: readonly Slot[]): TextEncoding | undefined {
  if (!slots.some(({ feature }) => feature)) return undefined
  const raw = textSlots(slots)
  const namesOf = (kind: Slot['kind']) => raw.filter((slot) => slot.kind === kind).map(({ name }) => name)
  const fields = { sparse: namesOf('sparse'), dense: namesOf('dense') }
  const sparse = slots.filter((slot) => slot.kind === 'sparse')
  const places = sparse.map(({ name }) => name)
  return {
    sparse: sparse.map((slot) => signSource(slot, places, fields)),
    dense: slots.filter((slot) => slot.kind === 'dense').map((slot) => valueSource(slot, fields)),
  }
}

type Fields = Readonly<Record<Slot['kind'], readonly string[]>>

function signSource(slot: SparseSlot, places: readonly string[], { sparse, dense }: Fields): SignSource {
  const { name, feature } = slot
  const from = sparse.indexOf(rawName(slot))
  if (!feature || feature.kind === 'ids') return { kind: 'copy', from }
  const begun = lanesOf(name)
  switch (feature.kind) {
    case 'cross':
      return { kind: 'cross', of: feature.of.map((one) => places.indexOf(one)), begun, buckets: feature.buckets }
    case 'hash':
      return { kind: 'hash', from, begun, buckets: feature.buckets }
    case 'vocabulary':
      return { kind: 'vocabulary', from, places: idPlaces(feature.words) }
    case 'bucketise': {
      const { boundaries } = feature
      return from < 0
        ? { kind: 'number', from: dense.indexOf(feature.from), boundaries }
        : { kind: 'bucketise', from, boundaries }
    }
  }
}

/** Of words that ids of text can be: their digits. */
function idPlaces(words: readonly string[]): ReadonlyMap<bigint, number> {
  return new Map(
    words.flatMap((word, i) => {
      const isId = /^(0|[1-9]\d{0,19})$/.test(word) && BigInt(word) < 2n ** 64n
      return isId ? [[BigInt(word), i + 1] as const] : []
    }),
  )
}

function valueSource(slot: Extract<Slot, { kind: 'dense' }>, { sparse, dense }: Fields): ValueSource {
  const { width, dtype, feature } = slot
  const from = dense.indexOf(rawName(slot))
  const isLog = feature?.kind === 'log'
  return from < 0
    ? { kind: 'sparse', from: sparse.indexOf(rawName(slot)), width, dtype, isLog }
    : { kind: 'dense', from, width, dtype, isLog }
}
