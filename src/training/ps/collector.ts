/** @file Makes the steps of several contributors: all of sync's workers, or the threads of one worker in half_async. What belongs to a step is decided in step-parts.ts. */
import { StepParts } from './step-parts.ts'
import type { Contribution, ParamStore } from './store.ts'

export class Collector {
  readonly #store: ParamStore
  readonly #parts: StepParts<Contribution>
  #waiting: { readonly until: () => boolean; readonly wake: () => void }[] = []

  constructor(store: ParamStore, contributors: Iterable<number>) {
    this.#store = store
    this.#parts = new StepParts(contributors)
  }

  /** Who has not contributed to the step under way. */
  get awaited(): readonly number[] {
    return this.#parts.awaited
  }

  /** See StepParts. */
  add(number: number, sequence: number, part: Contribution): void {
    this.#parts.add(number, sequence, part)
    this.#applyWhole()
  }

  /** Resolves when this contributor's push `sequence` is applied; undefined when it is. */
  applied(number: number, sequence: number): Promise<void> | undefined {
    const until = () => this.#parts.isApplied(number, sequence)
    return until() ? undefined : new Promise((wake) => this.#waiting.push({ until, wake }))
  }

  leave(numbers: Iterable<number>): void {
    this.#parts.leave(numbers)
    this.#applyWhole()
  }

  join(numbers: Iterable<number>, begin = false): void {
    this.#parts.join(numbers, begin)
  }

  /** Makes every step that has all its parts. */
  #applyWhole(): void {
    for (let parts = this.#parts.take(); parts; parts = this.#parts.take())
      if (parts.some(({ samples }) => samples > 0)) this.#store.push(this.#store.merge(parts))
    const done = this.#waiting.filter(({ until }) => until())
    this.#waiting = this.#waiting.filter(({ until }) => !until())
    for (const { wake } of done) wake()
  }
}
