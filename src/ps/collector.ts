/** @file Collects what belongs to one optimizer step: all of sync's workers, or the threads of one worker in half_async. */
import type { Contribution, ParamStore } from './store.ts'

/** Contributors are numbered worker * threads + thread; merging goes in this order, whoever comes first. */
export class Collector {
  readonly #store: ParamStore
  readonly #expected: Set<number>
  /** What each has brought and is not applied yet, oldest first: one, or two when a thread runs out of batches. */
  readonly #parts = new Map<number, Contribution[]>()
  #waiting: { readonly contributor: number; readonly wake: () => void }[] = []

  constructor(store: ParamStore, contributors: Iterable<number>) {
    this.#store = store
    this.#expected = new Set(contributors)
  }

  /** Who has not contributed to the step under way. */
  get awaited(): readonly number[] {
    return [...this.#expected].filter((contributor) => !this.#parts.has(contributor))
  }

  add(contributor: number, part: Contribution): void {
    const own = this.#parts.get(contributor)
    if (own) own.push(part)
    else this.#parts.set(contributor, [part])
    this.#applyWhole()
  }

  /** Resolves when all that this contributor has brought is applied; undefined when nothing of it is pending. */
  applied(contributor: number): Promise<void> | undefined {
    if (!this.#parts.has(contributor)) return undefined
    return new Promise((wake) => this.#waiting.push({ contributor, wake }))
  }

  /** These have no more samples in this epoch; steps go on without them. */
  leave(contributors: Iterable<number>): void {
    for (const contributor of contributors) this.#expected.delete(contributor)
    this.#applyWhole()
  }

  join(contributors: Iterable<number>): void {
    for (const contributor of contributors) this.#expected.add(contributor)
  }

  /** Makes every step that has all its parts. */
  #applyWhole(): void {
    while (this.#parts.size > 0 && this.awaited.length === 0) {
      const inOrder = [...this.#parts.keys()].sort((a, b) => a - b).map((contributor) => this.#take(contributor))
      if (inOrder.some(({ samples }) => samples > 0)) this.#store.push(this.#store.merge(inOrder))
    }
    const done = this.#waiting.filter(({ contributor }) => !this.#parts.has(contributor))
    this.#waiting = this.#waiting.filter(({ contributor }) => this.#parts.has(contributor))
    for (const { wake } of done) wake()
  }

  #take(contributor: number): Contribution {
    const own = this.#parts.get(contributor)!
    const first = own.shift()!
    if (own.length === 0) this.#parts.delete(contributor)
    return first
  }
}
