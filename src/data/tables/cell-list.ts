/** @file Values of a slot in a typed array that grows. Ids are written as two 32-bit words, since bigints are slow. */
import { exactDigits } from '../features/digits.ts'

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
  const addNumber = (value: number) => {
    if (!Number.isSafeInteger(value)) return false
    if (value < 0) return addBigint(BigInt(value))
    reserve()
    words[2 * length] = value // modulo 2^32; typed arrays are little-endian on every platform of Node
    words[2 * length + 1] = value / 2 ** 32
    length++
    return true
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
    addText: (text) => {
      const digits = exactDigits(text)
      if (digits >= 0) return addNumber(digits)
      return /^\s*-?\d+\s*$/.test(text) && addBigint(BigInt(text.trim()))
    },
    cut: (to) => {
      length = to
    },
  }
}

function grown<T extends Float32Array | Uint32Array>(from: T, to: T): T {
  to.set(from)
  return to
}
