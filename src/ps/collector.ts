/** @file Collects what belongs to one optimizer step: all of sync's workers, or the threads of one worker in half_async. */
import type { Contribution, ParamStore } from './store.ts'

/** Contributors are numbered worker * threads + thread; merging goes in this order, whoever comes first. */
export class Collector {
  readonly #store: ParamStore
  readonly #expected: Set<number>
  readonly #parts = new Map<number, Contribution>()
  #waiting: (() => void)[] = []

  constructor(store: ParamStore, contributors: Iterable<number>) {
    this.#store = store
    this.#expected = new Set(contributors)
  }

  /** Who has not contributed to the step under way. */
  get awaited(): readonly number[] {
    return [...this.#expected].filter((contributor) => !this.#parts.has(contributor))
  }

  add(contributor: number, part: Contribution): void {
    if (this.#parts.has(contributor)) throw new Error(`internal: contributor ${contributor} pushed twice in one step`)
    this.#parts.set(contributor, part)
    this.#applyIfWhole()
  }

  /** Resolves when this contributor's part is applied; undefined when nothing of it is pending. */
  applied(contributor: number): Promise<void> | undefined {
    if (!this.#parts.has(contributor)) return undefined
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** These have no more samples in this epoch; steps go on without them. */
  leave(contributors: Iterable<number>): void {
    for (const contributor of contributors) this.#expected.delete(contributor)
    this.#applyIfWhole()
  }

  join(contributors: Iterable<number>): void {
    for (const contributor of contributors) this.#expected.add(contributor)
  }

  #applyIfWhole(): void {
    if (this.#parts.size === 0 || this.awaited.length > 0) return
    const inOrder = [...this.#parts].sort(([a], [b]) => a - b).map(([, part]) => part)
    this.#parts.clear()
    if (inOrder.some(({ samples }) => samples > 0)) this.#store.push(this.#store.merge(inOrder))
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }
}
