/** @file Inputs made from valid ones by small damage. The same seed and number always give the same input. */

export type Random = () => number

/** Numbers in [0, 1) from a case's number (mulberry32). */
export function randomOf(seed: number, number: number): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b)) | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const below = (random: Random, end: number) => Math.floor(random() * end)
export const oneOf = <T>(random: Random, values: readonly T[]): T => values[below(random, values.length)]!

/** What breaks readers of any format. */
const NASTY = [
  ...[
    '',
    '\0',
    '\n',
    '\r\n',
    '\t',
    ' ',
    '-',
    '+',
    '.',
    ':',
    '"',
    "'",
    '{',
    '}',
    '[',
    ']',
    ',',
    '&a',
    '*a',
    '!!',
    '%',
    '\\',
    '|',
  ],
  ...['0', '-1', '1e999', 'NaN', 'Infinity', '4294967296', '9007199254740993', '18446744073709551616', '1e-400'],
  ...['null', 'true', '__proto__', 'constructor', 'toString', '\ufeff', '\u2028', '\ud83d\ude00', '../../etc/passwd'],
].map((text) => Buffer.from(text))

const MOST_BYTES = 16 * 1024
const MOST_CHANGES = 6

/** One of `corpus`, changed in a few places; `words` are what the format gives a meaning to. */
export function mutated(random: Random, corpus: readonly Uint8Array[], words: readonly string[]): Buffer<ArrayBuffer> {
  let bytes: Buffer<ArrayBuffer> = Buffer.from(oneOf(random, corpus))
  const changes = below(random, MOST_CHANGES)
  for (let i = 0; i < changes; i++) bytes = CHANGES[below(random, CHANGES.length)]!(bytes, random, corpus, words)
  return bytes.subarray(0, MOST_BYTES)
}

type Change = (
  bytes: Buffer<ArrayBuffer>,
  random: Random,
  corpus: readonly Uint8Array[],
  words: readonly string[],
) => Buffer<ArrayBuffer>

const CHANGES: readonly Change[] = [
  // A bit.
  (bytes, random) => {
    if (bytes.length > 0) bytes[below(random, bytes.length)]! ^= 1 << below(random, 8)
    return bytes
  },
  // A byte.
  (bytes, random) => {
    if (bytes.length > 0) bytes[below(random, bytes.length)] = below(random, 256)
    return bytes
  },
  // Cut off.
  (bytes, random) => bytes.subarray(0, below(random, bytes.length + 1)),
  // A piece taken out.
  (bytes, random) => {
    const [from, to] = range(bytes, random)
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
  },
  // A piece repeated, now and then very often.
  (bytes, random) => {
    const [from, to] = range(bytes, random)
    const times = random() < 0.1 ? below(random, 500) : 1 + below(random, 3)
    return splice(bytes, to, Buffer.concat(Array.from({ length: times }, () => bytes.subarray(from, to))))
  },
  // Something nasty put in.
  (bytes, random) => splice(bytes, below(random, bytes.length + 1), oneOf(random, NASTY)),
  // A word of the format put in.
  (bytes, random, _, words) =>
    splice(bytes, below(random, bytes.length + 1), Buffer.from(words.length > 0 ? oneOf(random, words) : '0')),
  // A number replaced.
  (bytes, random) => {
    const text = bytes.toString('latin1')
    const numbers = [...text.matchAll(/\d+/g)]
    if (numbers.length === 0) return bytes
    const { index, 0: number } = oneOf(random, numbers)
    const instead = Buffer.from(oneOf(random, ['0', '-1', '1e9', '99999999999999999999', 'x', '']))
    return Buffer.concat([bytes.subarray(0, index), instead, bytes.subarray(index + number.length)])
  },
  // The end of another one.
  (bytes, random, corpus) => {
    const other = oneOf(random, corpus)
    return Buffer.concat([
      bytes.subarray(0, below(random, bytes.length + 1)),
      other.subarray(below(random, other.length)),
    ])
  },
]

function range(bytes: Uint8Array, random: Random): [number, number] {
  const from = below(random, bytes.length + 1)
  return [from, Math.min(bytes.length, from + 1 + below(random, 40))]
}

function splice(bytes: Uint8Array, at: number, piece: Uint8Array): Buffer<ArrayBuffer> {
  return Buffer.concat([bytes.subarray(0, at), piece.subarray(0, MOST_BYTES), bytes.subarray(at)])
}
