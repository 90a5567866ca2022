/** @file How far each worker has come in a pass, at one server: a worker that is too far ahead of the slowest is answered when that one has caught up. */

/** A round is a batch of each thread of a worker. */
export interface PaceRequest {
  /** Rounds of this pass that this worker has trained. */
  readonly done: number
  /** The round, counted from 0, that it wants to begin. @default none: it only says how far it has come */
  readonly next?: number | undefined
  /** How many rounds it may be ahead of the slowest. */
  readonly ahead: number
}

export interface PaceAnswer {
  /** Rounds that the slowest of the others has trained; null where there are no others any more. */
  readonly slowest: number | null
  /** Who that is. */
  readonly awaited: readonly number[]
}

/** An answer is given after so long at the latest, so that those who wait can say whom they wait for. */
const PATIENCE_MS = 3000

export class Pace {
  readonly #patienceMs: number
  /** By rank: rounds trained, of those who take part in the pass. */
  readonly #done = new Map<number, number>()
  readonly #waiting = new Set<() => void>()

  constructor(patienceMs: number = PATIENCE_MS) {
    this.#patienceMs = patienceMs
  }

  /** This worker begins a pass. */
  join(rank: number): void {
    this.#done.set(rank, 0)
  }

  /** This worker is done with it, or gone: nobody waits for it any more. */
  leave(rank: number): void {
    if (this.#done.delete(rank)) this.#look()
  }

  /** Answered when the round may begin, or after a while by who is behind; then it is asked again. */
  async report(rank: number, { done, next = 0, ahead }: PaceRequest): Promise<PaceAnswer> {
    if (this.#done.has(rank) && done > this.#done.get(rank)!) {
      this.#done.set(rank, done)
      this.#look()
    }
    const mayBegin = () => next - (this.#slowest(rank).slowest ?? next) <= ahead
    if (!mayBegin()) {
      await new Promise<void>((resolve) => {
        const look = () => {
          if (mayBegin()) end()
        }
        const end = () => {
          clearTimeout(timer)
          this.#waiting.delete(look)
          resolve()
        }
        const timer = setTimeout(end, this.#patienceMs).unref()
        this.#waiting.add(look)
      })
    }
    return this.#slowest(rank)
  }

  #slowest(rank: number): PaceAnswer {
    const others = [...this.#done].filter(([other]) => other !== rank)
    if (others.length === 0) return { slowest: null, awaited: [] }
    const slowest = Math.min(...others.map(([, done]) => done))
    return { slowest, awaited: others.flatMap(([other, done]) => (done === slowest ? [other] : [])) }
  }

  #look(): void {
    for (const look of [...this.#waiting]) look()
  }
}
