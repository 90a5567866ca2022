/** @file When something takes far longer than it used to: a start, the steps between two reports, a save, an evaluation. Decided on times that are handed in. */

export const STAGES = ['start', 'steps', 'save', 'evaluation'] as const
export type Stage = (typeof STAGES)[number]

/** A stage that is overdue. */
export interface Overdue {
  readonly stage: Stage
  readonly ms: number
  /** The longest it took before; undefined: it is the first. */
  readonly longestMs: number | undefined
}

/** Below it nothing is overdue: a first step compiles, a first save makes folders. */
const LEAST_MS: Readonly<Record<Stage, number>> = { start: 60_000, steps: 30_000, save: 60_000, evaluation: 60_000 }
/** So many times as long as ever before. */
const FAR_LONGER = 5
/** What reports come of, and how long it may be silent until so many intervals from report to report have ended: batch 0 is reported by itself. */
const REPORTED: ReadonlySet<Stage> = new Set<Stage>(['steps', 'evaluation'])
const INTERVALS_TO_KNOW = 2
const UNKNOWN_MS = 600_000
/** Said again when it has become so many times as long. */
const AGAIN = 2

export class Patience {
  readonly #longest = new Map<Stage, number>()
  /** Intervals from report to report that have ended. */
  readonly #intervals = new Map<Stage, number>()
  #stage: Stage | undefined
  #isReport = false
  #since = 0
  #limit = 0

  /** A stage begins, or a report says that it has come on: what was before it is over. */
  begin(stage: Stage | undefined, nowMs: number, isReport = false): void {
    if (this.#stage) {
      const took = nowMs - this.#since
      this.#longest.set(this.#stage, Math.max(took, this.#longest.get(this.#stage) ?? 0))
    }
    if (stage && stage === this.#stage && isReport && this.#isReport)
      this.#intervals.set(stage, (this.#intervals.get(stage) ?? 0) + 1)
    this.#stage = stage
    this.#isReport = isReport
    this.#since = nowMs
    this.#limit = stage ? Math.max(this.#leastMs(stage), FAR_LONGER * (this.#longest.get(stage) ?? 0)) : 0
  }

  #leastMs(stage: Stage): number {
    const isKnown = !REPORTED.has(stage) || (this.#intervals.get(stage) ?? 0) >= INTERVALS_TO_KNOW
    return isKnown ? LEAST_MS[stage] : UNKNOWN_MS
  }

  /** What is overdue now, and has not been said. */
  look(nowMs: number): Overdue | undefined {
    const ms = nowMs - this.#since
    if (!this.#stage || ms < this.#limit) return undefined
    this.#limit = AGAIN * ms
    return { stage: this.#stage, ms, longestMs: this.#longest.get(this.#stage) }
  }
}
