/** @file Values of a slot in a typed array that grows. Ids are written as two 32-bit words, since bigints are slow. */
import { EXACT_DIGITS, exactDigits } from '../features/digits.ts'

export type CellKind = 'sign' | 'int64' | 'float32'

export interface CellList {
  readonly length: number
  /** At least `length` values; the array is used again. */
  readonly values: BigUint64Array | BigInt64Array | Float32Array
  /** What a value must be, in words. */
  readonly expected: string
  /** Each appends a value, or returns false if it is none of the kind. */
  addNumber(value: number): boolean
  addBigint(value: bigint): boolean
  addText(text: string): boolean
  /** Appends what these bytes of a text say if it is a plain number; any other, also one of the kind, is left to addText. */
  addBytes(bytes: Uint8Array, from: number, to: number): boolean
  /** Appends a value given by its two words, which is below 2^63. */
  addWords(low: number, high: number): boolean
  /** Keeps the first `length` values. */
  cut(length: number): void
}

const EXPECTED = {
  sign: 'a whole number from 0 to 18446744073709551615',
  int64: 'a whole number from -9223372036854775808 to 9223372036854775807',
  float32: 'a finite 32-bit number',
} as const
const RANGES = { sign: [0n, 2n ** 64n - 1n], int64: [-(2n ** 63n), 2n ** 63n - 1n] } as const
const FIRST_CAPACITY = 4096
/** Longer numbers are read in two parts. */
const LOW_DIGITS = 9
/** So many digits may be out of range, and then only a little: the larger word shows it. Signed ones with 19 are left to bigints. */
const MOST_DIGITS = { sign: 20, int64: 18 } as const
const [ZERO, MINUS, POINT] = [48, 45, 46]
const TENS = Array.from({ length: EXACT_DIGITS + 1 }, (_, power) => 10 ** power)

/** Of 64-bit values, also as pairs of words. */
export interface IntegerList extends CellList {
  readonly words: Uint32Array
}

export function createCellList(kind: 'sign'): IntegerList
export function createCellList(kind: CellKind): CellList
export function createCellList(kind: CellKind): CellList {
  return kind === 'float32' ? floatList() : integerList(kind)
}

function floatList(): CellList {
  let values = new Float32Array(FIRST_CAPACITY)
  let length = 0
  const addNumber = (value: number) => {
    if (length === values.length) values = grown(values, new Float32Array(2 * length))
    values[length] = value
    return Number.isFinite(values[length]) && ++length > 0
  }
  return {
    expected: EXPECTED.float32,
    get length() {
      return length
    },
    get values() {
      return values
    },
    addNumber,
    addBigint: (value) => addNumber(Number(value)),
    addText: (text) => text.trim() !== '' && addNumber(Number(text)),
    addWords: (low, high) => addNumber(2 ** 32 * high + low),
    addBytes: (bytes, from, to) => {
      const value = plainDecimal(bytes, from, to)
      return !Number.isNaN(value) && addNumber(value)
    },
    cut: (to) => {
      length = to
    },
  }
}

function integerList(kind: 'sign' | 'int64'): IntegerList {
  const [min, max] = RANGES[kind]
  const create = (size: number) => (kind === 'sign' ? new BigUint64Array(size) : new BigInt64Array(size))
  let values = create(FIRST_CAPACITY)
  let words = new Uint32Array(values.buffer)
  let length = 0
  const reserve = () => {
    if (length < values.length) return
    const larger = create(2 * length)
    words = grown(words, new Uint32Array(larger.buffer))
    values = larger
  }
  const addBigint = (value: bigint) => {
    if (value < min || value > max) return false
    reserve()
    values[length++] = value
    return true
  }
  const addWords = (low: number, high: number) => {
    reserve()
    words[2 * length] = low // modulo 2^32; typed arrays are little-endian on every platform of Node
    words[2 * length + 1] = high
    length++
    return true
  }
  const addNumber = (value: number) => {
    if (!Number.isSafeInteger(value)) return false
    return value < 0 ? addBigint(BigInt(value)) : addWords(value, value / 2 ** 32)
  }
  return {
    expected: EXPECTED[kind],
    get length() {
      return length
    },
    get values() {
      return values
    },
    get words() {
      return words
    },
    addNumber,
    addBigint,
    addWords,
    addText: (text) => {
      const digits = exactDigits(text)
      if (digits >= 0) return addNumber(digits)
      return /^\s*-?\d+\s*$/.test(text) && addBigint(BigInt(text.trim()))
    },
    addBytes: (bytes, from, to) => {
      const short = to - from <= EXACT_DIGITS
      const high = plainDigits(bytes, from, short ? to : to - LOW_DIGITS)
      if (high < 0) return false
      if (short) return addNumber(high)
      const low = plainDigits(bytes, to - LOW_DIGITS, to)
      if (low < 0 || to - from > MOST_DIGITS[kind]) return false
      // high * 10^9 + low, in parts that a double holds exactly.
      const upper = Math.floor(high / 2 ** 16) * 10 ** LOW_DIGITS
      const lower = (upper % 2 ** 16) * 2 ** 16 + (high % 2 ** 16) * 10 ** LOW_DIGITS + low
      const word = Math.floor(upper / 2 ** 16) + Math.floor(lower / 2 ** 32)
      return word < 2 ** 32 && addWords(lower % 2 ** 32, word)
    },
    cut: (to) => {
      length = to
    },
  }
}

/** The number that so few digits are; -1 for any other text. */
function plainDigits(bytes: Uint8Array, from: number, to: number): number {
  if (from >= to) return -1
  let value = 0
  for (let at = from; at < to; at++) {
    const digit = bytes[at]! - ZERO
    if (digit < 0 || digit > 9) return -1
    value = 10 * value + digit
  }
  return value
}

/** The number that digits with a point are, where they are so few that one division rounds as JavaScript does; NaN for any other text. */
function plainDecimal(bytes: Uint8Array, from: number, to: number): number {
  const isNegative = bytes[from] === MINUS
  let [value, digits, point] = [0, 0, -1]
  for (let at = isNegative ? from + 1 : from; at < to; at++) {
    const byte = bytes[at]!
    if (byte === POINT && point < 0) {
      point = digits
      continue
    }
    const digit = byte - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    value = 10 * value + digit
    digits++
  }
  if (digits === 0 || digits > EXACT_DIGITS) return Number.NaN
  const found = point < 0 ? value : value / TENS[digits - point]!
  return isNegative ? -found : found
}

function grown<T extends Float32Array | Uint32Array>(from: T, to: T): T {
  to.set(from)
  return to
}
