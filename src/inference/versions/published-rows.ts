/** @file The rows of a table as they were published last: what a delta is compared with, and what a replay of base and deltas gives. */
import { findSign, guessSigns, placeSign, type SignIndex } from '../export/index.ts'

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
  /** The same memory as bits. */
  #bits: Uint32Array
  #gone = new Uint8Array(FIRST_ROWS)
  #index: SignIndex = new Uint32Array(4 * FIRST_ROWS)
  /** Rows ever put, those that went included. */
  #used = 0
  #rows = 0
  /** By place, while all rows are looked at. */
  #seen: Uint8Array | undefined
  readonly #digest = new Int32Array(2)
  /** Takes what is read ahead, which would not be read at all if nothing took it. */
  readonly #sink = new Uint32Array(1)

  constructor(dim: number) {
    this.dim = dim
    this.#weights = new Float32Array(FIRST_ROWS * dim)
    this.#bits = new Uint32Array(this.#weights.buffer)
  }

  get rows(): number {
    return this.#rows
  }

  /** Of all rows, whatever their order: 16 hexadecimal digits. */
  get digest(): string {
    return [...this.#digest].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
  }

  /** Where a sign's weights begin in `weights`; -1 where it has no row. */
  find(low: number, high: number): number {
    const place = findSign(this.#index, this.#words, low, high)
    return place < 0 || this.#gone[place] === 1 ? NONE : place * this.dim
  }

  /** The place of each sign, -1 of those that never had a row. Places stay. */
  locate(words: Uint32Array, count: number, places: Int32Array): void {
    // Memory is read ahead with nothing decided by it: so the cache misses of many rows overlap, where a row by itself waits three times.
    guessSigns(this.#index, words, count, places)
    let read = 0
    for (let i = 0; i < count; i++) {
      const place = Math.max(0, places[i]!)
      read ^= this.#words[2 * place]! ^ this.#bits[place * this.dim]!
    }
    this.#sink[0] = read
    for (let i = 0; i < count; i++) {
      const [place, low, high] = [places[i]!, words[2 * i]!, words[2 * i + 1]!]
      // Most guesses are right; where nothing is, there is no row.
      if (place < 0 || (this.#words[2 * place] === low && this.#words[2 * place + 1] === high)) continue
      places[i] = findSign(this.#index, this.#words, low, high)
    }
  }

  /** Valid until the next put. */
  get weights(): Float32Array {
    return this.#weights
  }

  /** Whether there is a row at this place whose weights have the bits at `at`. */
  isSame(place: number, bits: Uint32Array, at: number): boolean {
    if (place < 0 || this.#gone[place] === 1) return false
    const [own, from] = [this.#bits, place * this.dim]
    for (let j = 0; j < this.dim; j++) if (own[from + j] !== bits[at + j]) return false
    return true
  }

  /** Stores a row over the one of the same sign. */
  put(low: number, high: number, from: Float32Array, at: number): void {
    this.putAt(findSign(this.#index, this.#words, low, high), low, high, from, at)
  }

  /** The same of a sign that was located. */
  putAt(place: number, low: number, high: number, from: Float32Array, at: number): void {
    const { dim } = this
    const own = place < 0 ? this.#place(low, high) : place
    if (this.#gone[own] === 1) {
      this.#gone[own] = 0
      this.#rows++
    } else this.#count(own, -1)
    for (let j = 0; j < dim; j++) this.#weights[own * dim + j] = from[at + j]!
    this.#count(own, 1)
    this.see(own)
  }

  #place(low: number, high: number): number {
    if (this.#used === this.#gone.length) this.#grow()
    const place = this.#used++
    this.#words[2 * place] = low
    this.#words[2 * place + 1] = high
    placeSign(this.#index, this.#words, place)
    this.#gone[place] = 1
    return place
  }

  /** Whether there was a row to remove. */
  remove(low: number, high: number): boolean {
    return this.removeAt(findSign(this.#index, this.#words, low, high))
  }

  removeAt(place: number): boolean {
    if (place < 0 || this.#gone[place] === 1) return false
    this.#count(place, -1)
    this.#gone[place] = 1
    this.#rows--
    return true
  }

  /** From now on rows that are there are noted: those that are put, and those that are seen. */
  beginLook(): void {
    this.#seen = new Uint8Array(this.#gone.length)
  }

  see(place: number): void {
    if (this.#seen) this.#seen[place] = 1
  }

  /** Removes the rows that were not there; returns their signs. */
  endLook(): bigint[] {
    const lost: bigint[] = []
    for (let place = 0; place < this.#used; place++)
      if (this.#seen![place] === 0 && this.removeAt(place))
        lost.push((BigInt(this.#words[2 * place + 1]!) << 32n) | BigInt(this.#words[2 * place]!))
    this.#seen = undefined
    return lost
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

  /** Two mixes of a row's sign and the bits of its weights come to the digest, or go from it. */
  #count(row: number, factor: 1 | -1): void {
    const { dim } = this
    const bits = this.#bits
    const [low, high, at] = [this.#words[2 * row]!, this.#words[2 * row + 1]!, row * dim]
    let first = mixed(low, 0x9e3779b1) ^ high
    let second = mixed(high, 0x7feb352d) ^ low
    for (let j = 0; j < dim; j++) {
      first = mixed(first ^ bits[at + j]!, 0x85ebca6b)
      second = mixed((second + bits[at + j]!) | 0, 0xc2b2ae35)
    }
    this.#digest[0] = (this.#digest[0]! + factor * first) | 0
    this.#digest[1] = (this.#digest[1]! + factor * second) | 0
  }

  #grow(): void {
    const rows = 2 * this.#gone.length
    this.#words = grown(this.#words, new Uint32Array(2 * rows))
    this.#weights = grown(this.#weights, new Float32Array(rows * this.dim))
    this.#bits = new Uint32Array(this.#weights.buffer)
    this.#gone = grown(this.#gone, new Uint8Array(rows))
    if (this.#seen) this.#seen = grown(this.#seen, new Uint8Array(rows))
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

function mixed(value: number, factor: number): number {
  const x = Math.imul(value ^ (value >>> 16), factor)
  return x ^ (x >>> 13)
}

/** Places of signs (as little-endian halves) by ascending sign: sorted by 16 bits at a time, the lowest first. */
export function ascending(words: Uint32Array, count: number): Uint32Array {
  let order = new Uint32Array(count)
  for (let i = 0; i < count; i++) order[i] = i
  let aside = new Uint32Array(count)
  for (let digit = 0; digit < 4; digit++) {
    const [half, shift] = [digit >> 1, 16 * (digit & 1)]
    const starts = new Uint32Array((1 << 16) + 1)
    for (let i = 0; i < count; i++) starts[((words[2 * i + half]! >>> shift) & 0xffff) + 1]!++
    if (starts.includes(count)) continue // the same 16 bits in all of them
    for (let d = 0; d < 1 << 16; d++) starts[d + 1]! += starts[d]!
    for (let k = 0; k < count; k++) {
      const from = order[k]!
      aside[starts[(words[2 * from + half]! >>> shift) & 0xffff]!++] = from
    }
    const done = aside
    aside = order
    order = done
  }
  return order
}
