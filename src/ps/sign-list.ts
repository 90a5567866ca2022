/** @file Signs that were named again and again, to be taken some at a time; takes room for few more than there are. */
import type { SignMerger } from './sign-merger.ts'

/** Repetitions are worth removing from so many signs on. */
const MANY = 2 ** 20

export class SignList {
  readonly #merger: SignMerger
  #lists: BigUint64Array[] = []
  #count = 0
  /** Beyond so many it is looked for repetitions. */
  #limit = MANY

  constructor(merger: SignMerger) {
    this.#merger = merger
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Keeps `signs` itself. */
  add(signs: BigUint64Array): void {
    if (signs.length === 0) return
    this.#lists.push(signs)
    this.#count += signs.length
    if (this.#count <= this.#limit) return
    this.#lists = [this.#merger.distinct(this.#lists).signs]
    this.#count = this.#lists[0]!.length
    this.#limit = 2 * this.#count + MANY
  }

  /** At most so many, the oldest first; they are no longer in the list. */
  take(most: number): readonly BigUint64Array[] {
    const taken: BigUint64Array[] = []
    for (let left = Math.min(most, this.#count); left > 0; ) {
      const first = this.#lists[0]!
      const part = first.subarray(0, left)
      if (part.length === first.length) this.#lists.shift()
      else this.#lists[0] = first.subarray(part.length)
      taken.push(part)
      left -= part.length
      this.#count -= part.length
    }
    return taken
  }
}
