/** @file Batches whose rows stay in memory until they have ended, by tick: how many rows they want, and how many of these are not there yet. */
export class BatchesUnderWay {
  /** `missing` counts rows that are nowhere, too: the batch will make them. */
  readonly #batches = new Map<number, { wanted: number; missing: number }>()

  begin(tick: number): void {
    this.#batches.set(tick, { wanted: 0, missing: 0 })
  }

  end(tick: number): void {
    this.#batches.delete(tick)
  }

  want(tick: number, wanted: number, missing: number): void {
    const own = this.#batches.get(tick)!
    own.wanted += wanted
    own.missing += missing
  }

  /** So many missing rows have come; whose they are makes no difference. */
  arrive(count: number): void {
    for (const own of this.#batches.values()) {
      const here = Math.min(count, own.missing)
      own.missing -= here
      count -= here
    }
  }

  /** The first tick whose rows must stay, `now` where no batch is under way. */
  oldest(now: number): number {
    return Math.min(now, ...this.#batches.keys())
  }

  get wanted(): number {
    return this.#sum(({ wanted }) => wanted)
  }

  get missing(): number {
    return this.#sum(({ missing }) => missing)
  }

  #sum(of: (batch: { wanted: number; missing: number }) => number): number {
    let sum = 0
    for (const batch of this.#batches.values()) sum += of(batch)
    return sum
  }
}
