/** @file Signs whose rows have been asked for and are not there yet: they are not asked for twice. */

/** Words of a place: both halves of a sign, and the number of the request, 0 where the place is free. */
const WORDS = 3

export class SignsUnderWay {
  #places = new Uint32Array(WORDS << 12)
  #used = 0
  /** Requests under way, oldest first. */
  #asked: { readonly number: number; readonly signs: BigUint64Array }[] = []

  /** Those of distinct `signs` that no request has; they now belong to request `number`, which is larger than any before. */
  admit(signs: BigUint64Array, number: number): BigUint64Array {
    this.#makeRoom(signs.length)
    const words = new Uint32Array(signs.buffer, signs.byteOffset, 2 * signs.length)
    const admitted = new BigUint64Array(signs.length)
    let count = 0
    for (let i = 0; i < signs.length; i++)
      if (this.#add(words[2 * i]!, words[2 * i + 1]!, number)) admitted[count++] = signs[i]!
    const own = admitted.slice(0, count)
    if (count > 0) this.#asked.push({ number, signs: own })
    return own
  }

  /** Requests up to this one are over. */
  over(number: number): void {
    while (this.#asked.length > 0 && this.#asked[0]!.number <= number) this.#asked.shift()
  }

  /** False when a request that is under way has it. */
  #add(low: number, high: number, number: number): boolean {
    const places = this.#places
    const mask = places.length / WORDS - 1
    let at = (Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1) >>> 7) & mask
    const oldest = this.#asked[0]?.number ?? number
    for (; ; at = (at + 1) & mask) {
      const place = WORDS * at
      const owner = places[place + 2]!
      const isOwn = owner !== 0 && places[place] === low && places[place + 1] === high
      if (isOwn && owner >= oldest) return false
      if (owner !== 0 && !isOwn) continue
      if (owner === 0) this.#used++
      places[place] = low
      places[place + 1] = high
      places[place + 2] = number
      return true
    }
  }

  /** Places of requests that are over are free again once all are set anew. */
  #makeRoom(more: number): void {
    const size = this.#places.length / WORDS
    if (2 * (this.#used + more) <= size) return
    const left = this.#asked.reduce((sum, { signs: { length } }) => sum + length, 0)
    const wanted = 2 ** Math.ceil(Math.log2(4 * (left + more)))
    this.#places = new Uint32Array(WORDS * Math.max(size, wanted))
    this.#used = 0
    const before = this.#asked
    this.#asked = []
    for (const one of before) {
      const words = new Uint32Array(one.signs.buffer, one.signs.byteOffset, 2 * one.signs.length)
      for (let i = 0; i < one.signs.length; i++) this.#add(words[2 * i]!, words[2 * i + 1]!, one.number)
      this.#asked.push(one)
    }
  }
}
