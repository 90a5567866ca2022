/** @file Signs that come one by one, as pairs of 32-bit words: a bigint for each would take longer than all else that is done with it. */
export class SignList {
  #length = 0
  #words: Uint32Array<ArrayBuffer>

  constructor(room: number) {
    this.#words = new Uint32Array(2 * Math.max(16, room))
  }

  get length(): number {
    return this.#length
  }

  /** Below 2^53. */
  addNumber(value: number): void {
    this.#reserve(1)
    this.#put(value, value / 2 ** 32)
  }

  addBigint(value: bigint): void {
    this.#reserve(1)
    this.#put(Number(value & 0xffffffffn), Number(value >> 32n))
  }

  /** A whole number of 64 bits in decimal digits. False, and nothing is added, where the text is anything else. */
  addDigits(text: string): boolean {
    if (text.length === 0 || text.length > MOST_DIGITS) return false
    let [low, high] = [0, 0]
    for (let at = 0; at < text.length; ) {
      const end = Math.min(text.length, at + DIGITS_AT_ONCE)
      let [some, factor] = [0, 1]
      for (; at < end; at++) {
        const digit = text.charCodeAt(at) - ZERO
        if (!(digit >= 0 && digit <= 9)) return false
        some = 10 * some + digit
        factor *= 10
      }
      low = low * factor + some
      const carry = Math.floor(low / 2 ** 32)
      low -= carry * 2 ** 32
      high = high * factor + carry
    }
    if (high >= 2 ** 32) return false
    this.#reserve(1)
    this.#put(low, high)
    return true
  }

  copy(words: Uint32Array, from: number, to: number): void {
    this.#reserve(to - from)
    const own = this.#words
    let at = 2 * this.#length
    for (let word = 2 * from; word < 2 * to; word++) own[at++] = words[word]!
    this.#length += to - from
  }

  /** Drops all behind the first `length`. */
  cut(length: number): void {
    this.#length = Math.min(this.#length, length)
  }

  values(): BigUint64Array<ArrayBuffer> {
    return new BigUint64Array(this.#words.buffer, 0, this.#length)
  }

  #put(low: number, high: number): void {
    const at = 2 * this.#length++
    this.#words[at] = low
    this.#words[at + 1] = high
  }

  #reserve(more: number): void {
    if (2 * (this.#length + more) <= this.#words.length) return
    const larger = new Uint32Array(2 * Math.max(this.#words.length, this.#length + more))
    larger.set(this.#words)
    this.#words = larger
  }
}

const ZERO = 48
const MOST_DIGITS = 20
/** 2^32 times their factor is exact. */
const DIGITS_AT_ONCE = 6
