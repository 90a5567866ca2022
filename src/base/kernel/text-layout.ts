/** @file Where everything lies in the text kernel's memory. Field orders mirror the classes State and Slot of assembly/text.ts. */
import { type DenseColumn, placeEncoding, type TextEncoding } from './text-encoding.ts'

/** A slot as the parser needs it: the shape of data's Slot. */
export type TextSlot =
  | { readonly kind: 'sparse'; readonly name: string }
  | { readonly kind: 'dense'; readonly name: string; readonly width: number; readonly dtype: 'float32' | 'int64' }

/** The kernel's State, a u32 each. */
export const STATE = [
  'samples',
  'signs',
  'lines',
  'position',
  'errorCode',
  'errorPosition',
  'errorSlot',
  'errorCount',
  'ignored',
  'sparseSlots',
  'slots',
  'maxSamples',
  'maxSigns',
  'maxIgnored',
  'counts',
  'starts',
  'signData',
  'records',
  'ignoredRecords',
  'denseRecords',
  'hash',
  'hashMask',
  'tokenSlots',
  'tokenSigns',
  'skipBad',
  'skipped',
  'padding',
  'encoding',
  'rawCounts',
  'shift',
  'rawSigns',
  'wanted',
] as const

export interface TextLayout {
  readonly state: number
  readonly text: number
  /** Bytes of text. */
  readonly capacity: number
  readonly end: number
  /** Of the columns that come out. */
  readonly outSlots: number
  readonly maxSamples: number
  readonly maxSigns: number
  readonly counts: number
  readonly starts: number
  /** Behind everything else, so that there can be more of them. */
  readonly signs: number
  readonly dense: readonly DenseColumn[]
  /** Fills in state and slot records. */
  write(buffer: ArrayBuffer): void
  ignoredName(buffer: ArrayBuffer, number: number): string
}

const RECORD_BYTES = 72
const KINDS = { sparse: 0, float32: 1, int64: 2 }
/** Undeclared slot names remembered (with up to 256 bytes each); more are skipped silently. */
const MAX_IGNORED = 1000
const IGNORED_BYTES = RECORD_BYTES + 256
/** Samples of one call: enough for a chunk of text, and columns of at most 16 MiB beside the signs. */
const MAX_SAMPLES = 8192
const COLUMN_BYTES = 16 * 1024 * 1024
/** The kernel reads words, so it looks at a few bytes behind the text. */
const PADDING = 64

export interface TextRules {
  /** Bad lines are counted and left out. @default false */
  readonly skipBad?: boolean | undefined
  /** The value of a slot that a line of slot text does not have: a whole number. @default 0 */
  readonly padding?: number | undefined
  /** What becomes of raw values. @default nothing: the columns hold them as they are */
  readonly encoding?: TextEncoding | undefined
}

export function layOutText(slots: readonly TextSlot[], capacity: number, rules: TextRules, base: number): TextLayout {
  const areas = placeAreas(slots, capacity, base, rules.encoding)
  return {
    ...areas,
    capacity,
    dense: areas.encoding?.dense ?? areas.dense,
    write: (buffer) => {
      writeState(buffer, areas, slots.length, rules)
      writeSlots(buffer, areas, slots)
      areas.encoding?.write(buffer)
    },
    ignoredName: (buffer, number) => {
      const at = areas.ignoredRecords + number * IGNORED_BYTES
      const length = new DataView(buffer).getUint32(at + 40, true)
      return new TextDecoder().decode(new Uint8Array(buffer, at + RECORD_BYTES, length - 1))
    },
  }
}

type Areas = ReturnType<typeof placeAreas>

/** Sizes, and the address of everything, one behind the other from `base` on. */
function placeAreas(slots: readonly TextSlot[], capacity: number, base: number, encoding: TextEncoding | undefined) {
  const sparseSlots = slots.filter((slot) => slot.kind === 'sparse').length
  const outSlots = encoding ? encoding.sparse.length : sparseSlots
  const rowBytes = slots.reduce((sum, slot) => sum + (slot.kind === 'sparse' ? 4 : slot.width * 8), 4)
  const maxSamples = Math.max(16, Math.min(MAX_SAMPLES, Math.floor(COLUMN_BYTES / rowBytes)))
  // One line always fits: a sign takes two bytes of text, and each slot may add a sign of its own.
  const maxSigns = Math.ceil(capacity / 2) + sparseSlots + outSlots + 16
  const hashSize = 2 ** Math.ceil(Math.log2(2 * (slots.length + MAX_IGNORED + 1)))
  let end = base
  const take = (bytes: number) => {
    const at = Math.ceil(end / 16) * 16
    end = at + bytes
    return at
  }
  // Taken in this order.
  const areas = {
    state: take(STATE.length * 4),
    records: take(slots.length * RECORD_BYTES),
    names: slots.map((slot) => {
      const name = new TextEncoder().encode(`${slot.name}:`)
      return { name, at: take(name.length) }
    }),
    ignoredRecords: take((MAX_IGNORED + 1) * IGNORED_BYTES),
    denseRecords: take(slots.length * 4),
    hash: take(hashSize * 4),
    counts: take(maxSamples * outSlots * 4 + 16),
    starts: take((maxSamples + 1) * 4),
    dense: slots.flatMap((slot) =>
      slot.kind === 'dense' ? [{ at: take(maxSamples * slot.width * 8), width: slot.width, dtype: slot.dtype }] : [],
    ),
    tokenSlots: take(maxSigns * 4),
    tokenSigns: take(maxSigns * 8 + sparseSlots * 4),
    text: take(capacity + PADDING),
    rawCounts: take(encoding ? sparseSlots * 4 + 16 : 0),
    rawSigns: take(encoding ? maxSigns * 8 : 0),
  }
  const raw = { sparse: sparseSlots, dense: areas.dense, samples: maxSamples }
  const placed = encoding && placeEncoding(encoding, raw, take)
  const signs = take(maxSigns * 8)
  return { ...areas, encoding: placed, signs, end, sparseSlots, outSlots, maxSamples, maxSigns, hashSize }
}

function writeState(buffer: ArrayBuffer, areas: Areas, slots: number, { skipBad = false, padding = 0 }: TextRules) {
  const { state, sparseSlots, maxSamples, maxSigns, counts, starts, signs, records, ignoredRecords } = areas
  const { denseRecords, hash, hashSize, tokenSlots, tokenSigns, encoding, rawCounts, rawSigns } = areas
  const values: { readonly [K in (typeof STATE)[number]]?: number | undefined } = {
    sparseSlots,
    slots,
    maxSamples,
    maxSigns,
    maxIgnored: MAX_IGNORED,
    counts,
    starts,
    signData: signs,
    records,
    ignoredRecords,
    denseRecords,
    hash,
    hashMask: hashSize - 1,
    tokenSlots,
    tokenSigns,
    skipBad: skipBad ? 1 : 0,
    padding,
    encoding: encoding?.at,
    rawCounts,
    shift: encoding && encoding.shift * 8,
    rawSigns,
  }
  new Uint32Array(buffer, state, STATE.length).set(STATE.map((name) => values[name] ?? 0))
}

function writeSlots(buffer: ArrayBuffer, { records, names, dense }: Areas, slots: readonly TextSlot[]): void {
  let sparse = 0
  let denseIndex = 0
  for (const [number, slot] of slots.entries()) {
    const at = records + number * RECORD_BYTES
    const { name, at: nameAt } = names[number]!
    new Uint8Array(buffer).set(name, nameAt)
    writeRecord(new DataView(buffer, at, RECORD_BYTES), {
      kind: KINDS[slot.kind === 'sparse' ? 'sparse' : slot.dtype],
      index: slot.kind === 'sparse' ? sparse++ : 0,
      name,
      nameAt,
      next: number + 1 < slots.length ? at + RECORD_BYTES : records,
      width: slot.kind === 'sparse' ? 0 : slot.width,
      column: slot.kind === 'sparse' ? 0 : dense[denseIndex++]!.at,
      number,
    })
  }
}

interface SlotRecord {
  readonly kind: number
  readonly index: number
  readonly name: Uint8Array
  readonly nameAt: number
  readonly next: number
  readonly width: number
  readonly column: number
  readonly number: number
}

/** One Slot of assembly/text.ts, little-endian. */
function writeRecord(view: DataView, { kind, index, name, nameAt, next, width, column, number }: SlotRecord): void {
  view.setUint32(0, kind, true)
  view.setUint32(4, index, true)
  for (let i = 0; i < 16 && i < name.length; i++) {
    const word = i < 8 ? 8 : 24 // word0 | word1, each followed by its mask
    view.setUint8(word + (i % 8), name[i]!)
    view.setUint8(word + 8 + (i % 8), 0xff)
  }
  for (const [i, value] of [name.length, nameAt, next, width, column, 0, 0, number].entries()) {
    view.setUint32(40 + 4 * i, value, true)
  }
}
