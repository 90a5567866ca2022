/** @file Collects what belongs to one optimizer step: all of sync's workers, or the threads of one worker in half_async. */
import type { Contribution, ParamStore } from './store.ts'

/** What one contributor has brought, by the number of its push, and how many of them are applied. */
interface Contributor {
  readonly parts: Map<number, Contribution>
  applied: number
}

/** Contributors are numbered worker * threads + thread; merging goes in this order, whoever comes first. */
export class Collector {
  readonly #store: ParamStore
  readonly #expected: Set<number>
  readonly #contributors = new Map<number, Contributor>()
  #waiting: { readonly until: () => boolean; readonly wake: () => void }[] = []

  constructor(store: ParamStore, contributors: Iterable<number>) {
    this.#store = store
    this.#expected = new Set(contributors)
  }

  /** Who has not contributed to the step under way. */
  get awaited(): readonly number[] {
    return [...this.#expected].filter((number) => !this.#hasNext(number))
  }

  /** Pushes count from 1 and are taken in their order, one a step, even if a later one arrives first. */
  add(number: number, sequence: number, part: Contribution): void {
    this.#contributor(number).parts.set(sequence, part)
    this.#applyWhole()
  }

  /** Resolves when this contributor's push `sequence` is applied; undefined when it is. */
  applied(number: number, sequence: number): Promise<void> | undefined {
    const contributor = this.#contributor(number)
    const until = () => contributor.applied >= sequence
    return until() ? undefined : new Promise((wake) => this.#waiting.push({ until, wake }))
  }

  /** These have no more samples in this epoch; steps go on without them. */
  leave(numbers: Iterable<number>): void {
    for (const number of numbers) this.#expected.delete(number)
    this.#applyWhole()
  }

  /** These take part from now on; with `begin`, their pushes count from 1 again. */
  join(numbers: Iterable<number>, begin = false): void {
    for (const number of numbers) {
      this.#expected.add(number)
      if (begin) this.#contributors.delete(number)
    }
  }

  /** Makes every step that has all its parts. */
  #applyWhole(): void {
    for (;;) {
      const ready = [...this.#contributors.keys()].filter((number) => this.#hasNext(number)).sort((a, b) => a - b)
      if (ready.length === 0 || this.awaited.length > 0) break
      const parts = ready.map((number) => this.#take(number))
      if (parts.some(({ samples }) => samples > 0)) this.#store.push(this.#store.merge(parts))
    }
    const done = this.#waiting.filter(({ until }) => until())
    this.#waiting = this.#waiting.filter(({ until }) => !until())
    for (const { wake } of done) wake()
  }

  #hasNext(number: number): boolean {
    const contributor = this.#contributors.get(number)
    return contributor?.parts.has(contributor.applied + 1) ?? false
  }

  #take(number: number): Contribution {
    const contributor = this.#contributor(number)
    const sequence = ++contributor.applied
    const part = contributor.parts.get(sequence)!
    contributor.parts.delete(sequence)
    return part
  }

  #contributor(number: number): Contributor {
    const known = this.#contributors.get(number) ?? { parts: new Map(), applied: 0 }
    this.#contributors.set(number, known)
    return known
  }
}
