/** @file Values of all workers, gathered at a server: each brings one and gets those of all. Barriers, metrics and file lists are gathered so. Who may be answered what is decided in gatherings.ts. */
import { type GatherAnswer, Gatherings, type GatherRequest } from './gatherings.ts'

export type { GatherAnswer, GatherRequest, WaitingPlaces } from './gatherings.ts'

/** An answer is given after so long at the latest, so that those who wait can say whom they wait for. */
const PATIENCE_MS = 3000
/** Kept a while after everyone was served: the last answer may be lost and asked for again. */
const KEPT_MS = 60_000

export class AllGather {
  readonly #gatherings: Gatherings
  readonly #patienceMs: number
  /** By name: who waits there. */
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(workers: number, patienceMs: number = PATIENCE_MS) {
    this.#gatherings = new Gatherings(workers)
    this.#patienceMs = patienceMs
  }

  /** Resolves to all values, or after a while to who is missing; then it is joined again with the same value. */
  async join(rank: number, request: GatherRequest): Promise<GatherAnswer> {
    const { name } = request
    const gatherings = this.#gatherings
    gatherings.bring(rank, request)
    if (gatherings.areApart) this.#wakeAll()
    if (gatherings.answer(rank, name).kind === 'waiting') await this.#patience(name)
    const answer = gatherings.answer(rank, name)
    if (answer.kind !== 'met') return answer
    this.#wake(name)
    if (gatherings.isServed(name)) setTimeout(() => gatherings.forget(name), KEPT_MS).unref()
    return answer
  }

  /** This worker brings nothing any more. */
  leave(rank: number): void {
    this.#gatherings.leave(rank)
    if (this.#gatherings.areApart) this.#wakeAll()
  }

  #wake(name: string): void {
    for (const wake of this.#waiting.get(name) ?? []) wake()
    this.#waiting.delete(name)
  }

  #wakeAll(): void {
    for (const name of [...this.#waiting.keys()]) this.#wake(name)
  }

  async #patience(name: string): Promise<void> {
    const waiting = this.#waiting.get(name) ?? new Set()
    this.#waiting.set(name, waiting)
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, this.#patienceMs).unref()
      waiting.add(wake)
    })
  }
}
