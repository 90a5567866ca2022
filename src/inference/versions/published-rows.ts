/** @file The rows of a table as they were published last: what a delta is compared with, and what a replay of base and deltas gives. */
import { findSign, placeSign, type SignIndex } from '../export/index.ts'

/** Rows by sign, whole weights as a lookup gives them. */
export interface TableRows {
  /** Distinct, in ascending order. */
  readonly signs: BigUint64Array
  /** [signs, dim] */
  readonly weights: Float32Array
}

const FIRST_ROWS = 1024
const NONE = -1

export class PublishedRows {
  readonly dim: number
  #words = new Uint32Array(2 * FIRST_ROWS)
  #weights: Float32Array
  #gone = new Uint8Array(FIRST_ROWS)
  #index: SignIndex = new Uint32Array(4 * FIRST_ROWS)
  /** Rows ever put, those that went included. */
  #used = 0
  #rows = 0
  #digest: [number, number] = [0, 0]

  constructor(dim: number) {
    this.dim = dim
    this.#weights = new Float32Array(FIRST_ROWS * dim)
  }

  get rows(): number {
    return this.#rows
  }

  /** Of all rows, whatever their order: 16 hexadecimal digits. */
  get digest(): string {
    return this.#digest.map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
  }

  /** Where a sign's weights begin in `weights`; -1 where it has no row. */
  find(low: number, high: number): number {
    const row = findSign(this.#index, this.#words, low, high)
    return row < 0 || this.#gone[row] === 1 ? NONE : row * this.dim
  }

  /** Valid until the next put. */
  get weights(): Float32Array {
    return this.#weights
  }

  /** Stores a row over the one of the same sign. */
  put(low: number, high: number, from: Float32Array, at: number): void {
    const { dim } = this
    let row = findSign(this.#index, this.#words, low, high)
    if (row < 0) {
      if (this.#used === this.#gone.length) this.#grow()
      row = this.#used++
      this.#words[2 * row] = low
      this.#words[2 * row + 1] = high
      placeSign(this.#index, this.#words, row)
      this.#gone[row] = 1
    }
    if (this.#gone[row] === 1) {
      this.#gone[row] = 0
      this.#rows++
    } else this.#count(row, -1)
    for (let j = 0; j < dim; j++) this.#weights[row * dim + j] = from[at + j]!
    this.#count(row, 1)
  }

  /** Whether there was a row to remove. */
  remove(low: number, high: number): boolean {
    const row = findSign(this.#index, this.#words, low, high)
    if (row < 0 || this.#gone[row] === 1) return false
    this.#count(row, -1)
    this.#gone[row] = 1
    this.#rows--
    return true
  }

  putAll({ signs, weights }: TableRows): void {
    const words = wordsOf(signs)
    for (let i = 0; i < signs.length; i++) this.put(words[2 * i]!, words[2 * i + 1]!, weights, i * this.dim)
  }

  /** Signs that have a row, in no particular order. */
  *signs(): Generator<readonly [low: number, high: number]> {
    for (let row = 0; row < this.#used; row++)
      if (this.#gone[row] === 0) yield [this.#words[2 * row]!, this.#words[2 * row + 1]!]
  }

  /** All rows, by ascending sign. */
  sorted(): TableRows {
    const signs = new BigUint64Array(this.#rows)
    const words = wordsOf(signs)
    let at = 0
    for (const [low, high] of this.signs()) {
      words[at++] = low
      words[at++] = high
    }
    signs.sort()
    const weights = new Float32Array(this.#rows * this.dim)
    for (let i = 0; i < signs.length; i++) {
      const from = this.find(words[2 * i]!, words[2 * i + 1]!)
      weights.set(this.#weights.subarray(from, from + this.dim), i * this.dim)
    }
    return { signs, weights }
  }

  #count(row: number, factor: 1 | -1): void {
    const [first, second] = rowHash(this.#words, this.#weights, row, this.dim)
    this.#digest = [(this.#digest[0] + factor * first) | 0, (this.#digest[1] + factor * second) | 0]
  }

  #grow(): void {
    const rows = 2 * this.#gone.length
    this.#words = grown(this.#words, new Uint32Array(2 * rows))
    this.#weights = grown(this.#weights, new Float32Array(rows * this.dim))
    this.#gone = grown(this.#gone, new Uint8Array(rows))
    this.#index = new Uint32Array(4 * rows)
    for (let row = 0; row < this.#used; row++) placeSign(this.#index, this.#words, row)
  }
}

function grown<T extends Uint32Array | Float32Array | Uint8Array>(from: T, to: T): T {
  to.set(from as never)
  return to
}

/** Signs as little-endian halves. */
export const wordsOf = (signs: BigUint64Array) => new Uint32Array(signs.buffer, signs.byteOffset, 2 * signs.length)

/** Two mixes of a row's sign and the bits of its weights. */
function rowHash(words: Uint32Array, weights: Float32Array, row: number, dim: number): [number, number] {
  const bits = new Uint32Array(weights.buffer, weights.byteOffset + 4 * row * dim, dim)
  let first = mixed(words[2 * row]!, 0x9e3779b1) ^ words[2 * row + 1]!
  let second = mixed(words[2 * row + 1]!, 0x7feb352d) ^ words[2 * row]!
  for (let j = 0; j < dim; j++) {
    first = mixed(first ^ bits[j]!, 0x85ebca6b)
    second = mixed((second + bits[j]!) | 0, 0xc2b2ae35)
  }
  return [first, second]
}

function mixed(value: number, factor: number): number {
  const x = Math.imul(value ^ (value >>> 16), factor)
  return x ^ (x >>> 13)
}
