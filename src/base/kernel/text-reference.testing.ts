/** @file The text kernel's rules in plain TypeScript, one line at a time: what the kernel's test compares with. */
import type { TextErrorKind, TextFormat } from './text.ts'
import type { TextSlot } from './text-layout.ts'

/** One sample: per slot in declaration order its signs (bigint), float32 values or int64 values (bigint). */
export type ReferenceSample = readonly (readonly (number | bigint)[])[]

export interface ReferenceError {
  readonly kind: TextErrorKind
  /** Offset in the line of what is wrong. */
  readonly offset: number
  readonly slot: number
  readonly count: number
}

export type ReferenceLine =
  | { readonly kind: 'blank' }
  | { readonly kind: 'sample'; readonly sample: ReferenceSample; readonly ignored: readonly string[] }
  | { readonly kind: 'bad'; readonly error: ReferenceError }

/** Parses one line without its newline. */
export function parseLineReference(format: TextFormat, slots: readonly TextSlot[], line: string): ReferenceLine {
  const tokens = [...line.matchAll(/[^ \t\r\v\f]+/g)].map((match) => ({ text: match[0], offset: match.index }))
  if (tokens.length === 0) return { kind: 'blank' }
  try {
    return { kind: 'sample', ...PARSE[format](slots, tokens, line) }
  } catch (error) {
    if (error instanceof BadLine) return { kind: 'bad', error: error.detail }
    throw error
  }
}

interface Token {
  readonly text: string
  readonly offset: number
}
type Parsed = { readonly sample: ReferenceSample; readonly ignored: readonly string[] }

class BadLine extends Error {
  readonly detail: ReferenceError
  constructor(kind: TextErrorKind, offset: number, slot = 0, count = 0) {
    super(kind)
    this.detail = { kind, offset, slot, count }
  }
}

const PARSE: Record<TextFormat, (slots: readonly TextSlot[], tokens: readonly Token[], line: string) => Parsed> = {
  slot: parseSlotTokens,
  multislot: parseMultiSlotTokens,
}

function parseSlotTokens(slots: readonly TextSlot[], tokens: readonly Token[]): Parsed {
  const values: (number | bigint)[][] = slots.map(() => [])
  const first: number[] = []
  const ignored: string[] = []
  for (const { text, offset } of tokens) {
    const colon = text.indexOf(':')
    if (colon < 0) throw new BadLine('noColon', offset)
    const number = slots.findIndex((slot) => slot.name === text.slice(0, colon))
    if (number < 0) ignored.push(text.slice(0, colon))
    else {
      const at = offset + colon + 1
      first[number] ??= at
      values[number]!.push(parseValue(slots[number]!, number, { text: text.slice(colon + 1), offset: at }))
    }
  }
  for (const [number, slot] of slots.entries()) {
    const found = values[number]!.length
    if (slot.kind === 'sparse' && found === 0) values[number] = [0n]
    if (slot.kind === 'dense' && found === 0) values[number] = Array(slot.width).fill(slot.dtype === 'int64' ? 0n : 0)
    else if (slot.kind === 'dense' && found !== slot.width)
      throw new BadLine('wrongWidth', first[number]!, number, found)
  }
  return { sample: values, ignored }
}

function parseMultiSlotTokens(slots: readonly TextSlot[], tokens: readonly Token[], line: string): Parsed {
  // A line that ends early is wrong where its trailing white space ends.
  const end = line.length
  let next = 0
  const sample = slots.map((slot, number) => {
    const counted = tokens[next++]
    if (!counted) throw new BadLine('tooShort', end, number, 0)
    const count = /^\d+$/.test(counted.text) ? BigInt(counted.text) : 0n
    if (count === 0n || count > 0x7fffffffn) throw new BadLine('badCount', counted.offset, number)
    if (slot.kind === 'dense' && count !== BigInt(slot.width)) {
      throw new BadLine('wrongWidth', counted.offset, number, Number(count))
    }
    const values: (number | bigint)[] = []
    while (values.length < count) {
      const token = tokens[next++]
      if (!token) throw new BadLine('tooShort', end, number, values.length)
      values.push(parseValue(slot, number, token))
    }
    return values
  })
  if (next < tokens.length) throw new BadLine('tooLong', tokens[next]!.offset)
  return { sample, ignored: [] }
}

function parseValue(slot: TextSlot, number: number, token: Token): number | bigint {
  if (slot.kind === 'sparse') return parseInteger(token, /^\d+$/, 0n, 2n ** 64n - 1n, 'notSign', number)
  if (slot.dtype === 'int64') return parseInteger(token, /^-?\d+$/, -(2n ** 63n), 2n ** 63n - 1n, 'notInteger', number)
  const value = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(token.text)
    ? Math.fround(Number(token.text))
    : Number.NaN
  if (!Number.isFinite(value)) throw new BadLine('notFloat', token.offset, number)
  return value
}

function parseInteger(
  { text, offset }: Token,
  form: RegExp,
  min: bigint,
  max: bigint,
  kind: TextErrorKind,
  slot: number,
): bigint {
  const value = form.test(text) ? BigInt(text) : max + 1n
  if (value < min || value > max) throw new BadLine(kind, offset, slot)
  return value
}

const PRIME = 0x9e3779b1
const LANES = 16

/** The checksum of `bytes` that goes on from `seed`: sixteen chains over words, folded, then the bytes that are left. */
export function checksumReference(bytes: Uint8Array, seed: number): number {
  const step = (sum: number, word: number) => {
    const product = Math.imul(sum ^ word, PRIME)
    return (product ^ (product >>> 15)) >>> 0
  }
  const whole = bytes.length - (bytes.length % (4 * LANES))
  const words = new DataView(bytes.buffer, bytes.byteOffset, whole)
  const chains = Array.from({ length: LANES }, (_, i) => (seed + (i >> 2)) >>> 0)
  for (let at = 0; at < whole; at += 4)
    chains[(at / 4) % LANES] = step(chains[(at / 4) % LANES]!, words.getUint32(at, true))
  return [...chains, ...bytes.subarray(whole)].reduce(step, bytes.length)
}
