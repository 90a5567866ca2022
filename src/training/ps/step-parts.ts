/** @file What belongs to one optimizer step: which pushes of whom, and when a step has all its parts. Knows nothing of weights, time or connections. */

/** What one contributor has brought, by the number of its push, and how many of them are in steps. */
interface Contributor<T> {
  readonly parts: Map<number, T>
  applied: number
}

/** Contributors are numbered worker * threads + thread; parts of a step come in this order, whoever comes first. */
export class StepParts<T> {
  readonly #expected: Set<number>
  readonly #contributors = new Map<number, Contributor<T>>()

  constructor(contributors: Iterable<number>) {
    this.#expected = new Set(contributors)
  }

  /** Who has not contributed to the step under way. */
  get awaited(): readonly number[] {
    return [...this.#expected].filter((number) => !this.#hasNext(number))
  }

  /** Pushes count from 1 and are taken in their order, one a step, even if a later one arrives first. */
  add(number: number, sequence: number, part: T): void {
    this.#contributor(number).parts.set(sequence, part)
  }

  isApplied(number: number, sequence: number): boolean {
    return this.#contributor(number).applied >= sequence
  }

  /** These have no more samples in this epoch; steps go on without them. */
  leave(numbers: Iterable<number>): void {
    for (const number of numbers) this.#expected.delete(number)
  }

  /** These take part from now on; with `begin`, their pushes count from 1 again. */
  join(numbers: Iterable<number>, begin = false): void {
    for (const number of numbers) {
      this.#expected.add(number)
      if (begin) this.#contributors.delete(number)
    }
  }

  /** The parts of the next step, if it has all of them. */
  take(): readonly T[] | undefined {
    const ready = [...this.#contributors.keys()].filter((number) => this.#hasNext(number)).sort((a, b) => a - b)
    if (ready.length === 0 || this.awaited.length > 0) return undefined
    return ready.map((number) => {
      const contributor = this.#contributor(number)
      const sequence = ++contributor.applied
      const part = contributor.parts.get(sequence)!
      contributor.parts.delete(sequence)
      return part
    })
  }

  #hasNext(number: number): boolean {
    const contributor = this.#contributors.get(number)
    return contributor?.parts.has(contributor.applied + 1) ?? false
  }

  #contributor(number: number): Contributor<T> {
    const known = this.#contributors.get(number) ?? { parts: new Map(), applied: 0 }
    this.#contributors.set(number, known)
    return known
  }
}
