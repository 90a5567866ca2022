/** @file A virtual clock, and a network on it that loses, delays, repeats and reorders messages and is cut in two: all drawn from a seed, so that a schedule can be repeated. */
import { createRng, type Rng } from '../../src/base/util/index.ts'

export interface NetworkFaults {
  /** Shares of messages that are lost, and that arrive twice. */
  readonly drop: number
  readonly repeat: number
  /** A message takes up to so long, each for itself: later ones may be first. */
  readonly delayMs: number
  /** Who hears and says nothing for how long. */
  readonly partitions: readonly { readonly who: string; readonly fromMs: number; readonly forMs: number }[]
}

interface Due {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

export class World {
  nowMs = 0
  readonly rng: Rng
  readonly #faults: NetworkFaults
  /** A binary heap, the next first. */
  readonly #due: Due[] = []
  #order = 0

  constructor(seed: number, faults: NetworkFaults) {
    this.rng = createRng(BigInt(seed))
    this.#faults = faults
  }

  after(ms: number, run: () => void): void {
    this.#push({ atMs: this.nowMs + ms, order: this.#order++, run })
  }

  /** A message between two processes, which may arrive never, late or twice. */
  send(from: string, to: string, deliver: () => void): void {
    const { drop, repeat, delayMs } = this.#faults
    const copies = this.rng.uniform() < repeat ? 2 : 1
    for (let i = 0; i < copies; i++) {
      if (this.rng.uniform() < drop || this.#isCut(from) || this.#isCut(to)) continue
      this.after(1 + this.rng.uniform() * delayMs, () => {
        if (!this.#isCut(to)) deliver()
      })
    }
  }

  #isCut(who: string): boolean {
    return this.#faults.partitions.some(
      (one) => one.who === who && this.nowMs >= one.fromMs && this.nowMs < one.fromMs + one.forMs,
    )
  }

  /** Until `isOver`, or nothing is due any more, or so much time has passed. Returns whether it is over. */
  run(isOver: () => boolean, limitMs: number): boolean {
    while (!isOver()) {
      const next = this.#pop()
      if (!next || next.atMs > limitMs) return false
      this.nowMs = next.atMs
      next.run()
    }
    return true
  }

  #push(due: Due): void {
    const heap = this.#due
    let at = heap.push(due) - 1
    for (let parent = (at - 1) >> 1; at > 0 && isBefore(due, heap[parent]!); parent = (at - 1) >> 1) {
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = due
  }

  #pop(): Due | undefined {
    const heap = this.#due
    const first = heap[0]
    const last = heap.pop()
    if (!first || !last || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (isBefore(last, heap[child]!)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }
}

const isBefore = (a: Due, b: Due) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
