/** @file Which pushes of a contributor were seen: one that arrives again is known, one that arrives late is not mistaken for it. */

export class SeenSequences {
  /** Everything up to here was seen. */
  #upTo = 0
  readonly #beyond = new Set<number>()

  /** Notes a number, counted from 1; false when it was seen before. */
  add(sequence: number): boolean {
    if (sequence <= this.#upTo || this.#beyond.has(sequence)) return false
    this.#beyond.add(sequence)
    while (this.#beyond.delete(this.#upTo + 1)) this.#upTo++
    return true
  }
}
