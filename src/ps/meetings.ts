/** @file Where all workers meet: each brings something and gets what all have brought. Barriers, metrics and file lists are meetings. */

export type MeetingAnswer =
  | { readonly kind: 'met'; readonly brought: readonly unknown[] }
  /** Not everyone is here yet: ask again. */
  | { readonly kind: 'waiting'; readonly awaited: readonly number[] }

interface Meeting {
  readonly brought: Map<number, unknown>
  readonly served: Set<number>
  waiting: (() => void)[]
}

/** An answer is given after so long at the latest, so that those who wait can say whom they wait for. */
const PATIENCE_MS = 3000

export class Meetings {
  readonly #workers: number
  readonly #patienceMs: number
  readonly #meetings = new Map<string, Meeting>()

  constructor(workers: number, patienceMs: number = PATIENCE_MS) {
    this.#workers = workers
    this.#patienceMs = patienceMs
  }

  /** Names of meetings are used once in a job. Coming again to the same one, after a wait, is free. */
  async come(name: string, rank: number, what: unknown): Promise<MeetingAnswer> {
    const meeting = this.#meetings.get(name) ?? { brought: new Map(), served: new Set(), waiting: [] }
    this.#meetings.set(name, meeting)
    meeting.brought.set(rank, what)
    if (meeting.brought.size < this.#workers) await this.#patience(meeting)
    const ranks = Array.from({ length: this.#workers }, (_, i) => i)
    const awaited = ranks.filter((other) => !meeting.brought.has(other))
    if (awaited.length > 0) return { kind: 'waiting', awaited }
    for (const wake of meeting.waiting) wake()
    meeting.served.add(rank)
    // Kept a while after everyone was served: the last answer may be lost and asked for again.
    if (meeting.served.size === this.#workers) setTimeout(() => this.#meetings.delete(name), 60_000).unref()
    return { kind: 'met', brought: ranks.map((other) => meeting.brought.get(other)) }
  }

  async #patience(meeting: Meeting): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#patienceMs)
      meeting.waiting.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
