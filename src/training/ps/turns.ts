/** @file The joins and leaves of each worker in their order: one that arrives once more behind a later one changes nothing. Knows nothing of connections. */

export class Turns {
  /** By worker: the latest that was taken. */
  readonly #latest = new Map<number, number>()

  /** Whether this is news: `turn` counts the joins and leaves of a worker from 1. */
  take(rank: number, turn: number): boolean {
    if (turn <= (this.#latest.get(rank) ?? 0)) return false
    this.#latest.set(rank, turn)
    return true
  }
}
