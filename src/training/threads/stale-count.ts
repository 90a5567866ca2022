/** @file How many steps of others come between two of a thread: so old are its weights when their gradients are applied. Pure. */
import type { Stale } from './messages.ts'

export class StaleCount {
  #last = 0
  #behind = 0
  #steps = 0

  /** The number of one more of its steps, over all threads and workers; 0: it is not known. */
  add(step: number): void {
    if (this.#last > 0 && step > this.#last) {
      this.#behind += step - this.#last - 1
      this.#steps++
    }
    if (step > 0) this.#last = step
  }

  get sum(): Stale {
    return { behind: this.#behind, steps: this.#steps }
  }

  /** Between two passes others may go on. */
  reset(): void {
    this.#last = 0
    this.#behind = 0
    this.#steps = 0
  }
}
