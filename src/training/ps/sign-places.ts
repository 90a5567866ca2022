/** @file Signs and the numbers that they were given: a hash table over their halves, which makes no object a sign. */

export class SignPlaces {
  readonly most: number
  /** The place of each number that was given, or -1: nobody's. */
  readonly #slots: Int32Array
  readonly #words: Uint32Array
  #count = 0

  /** At most so many signs. */
  constructor(most: number) {
    this.most = most
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * most + 2))).fill(-1)
    this.#words = new Uint32Array(2 * most)
  }

  get count(): number {
    return this.#count
  }

  /** Both halves, the lower first, of the signs by their numbers. */
  get words(): Uint32Array {
    return this.#words.subarray(0, 2 * this.#count)
  }

  /** The number of a sign, or -1. */
  find(low: number, high: number): number {
    return this.#slots[this.#slotOf(low, high)]!
  }

  /** The number of a sign, which is the next one where it had none. */
  add(low: number, high: number): number {
    const slot = this.#slotOf(low, high)
    const known = this.#slots[slot]!
    if (known >= 0) return known
    if (this.#count === this.most) throw new Error(`internal: more than ${this.most} signs`)
    const number = this.#count++
    this.#words[2 * number] = low
    this.#words[2 * number + 1] = high
    this.#slots[slot] = number
    return number
  }

  clear(): void {
    this.#slots.fill(-1)
    this.#count = 0
  }

  #slotOf(low: number, high: number): number {
    const [slots, words] = [this.#slots, this.#words]
    const mask = slots.length - 1
    const hash = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1)
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const number = slots[slot]!
      if (number < 0 || (words[2 * number] === low && words[2 * number + 1] === high)) return slot
    }
  }
}
