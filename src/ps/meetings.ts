/** @file Where all workers meet: each brings something and gets what all have brought. Barriers, metrics and file lists are meetings. */

/** What a worker comes to; names are used once in a job. */
export interface Meeting {
  readonly name: string
  readonly what: unknown
  /** The worker does nothing else until it has met the others. @default false */
  readonly blocking?: boolean
}

/** Where each worker is, by rank: the meeting it waits at, or null when it has left. */
export type Places = Readonly<Record<number, string | null>>

export type MeetingAnswer =
  | { readonly kind: 'met'; readonly brought: readonly unknown[] }
  /** Not everyone is here yet: ask again. */
  | { readonly kind: 'waiting'; readonly awaited: readonly number[] }
  /** Nobody will come any more: all wait elsewhere or have left. */
  | { readonly kind: 'apart'; readonly places: Places }

interface Room {
  readonly brought: Map<number, unknown>
  readonly served: Set<number>
  waiting: (() => void)[]
}

/** An answer is given after so long at the latest, so that those who wait can say whom they wait for. */
const PATIENCE_MS = 3000

export class Meetings {
  readonly #ranks: readonly number[]
  readonly #patienceMs: number
  readonly #rooms = new Map<string, Room>()
  /** Where workers wait that do nothing else, by rank. */
  readonly #blocked = new Map<number, string>()
  readonly #left = new Set<number>()

  constructor(workers: number, patienceMs: number = PATIENCE_MS) {
    this.#ranks = Array.from({ length: workers }, (_, i) => i)
    this.#patienceMs = patienceMs
  }

  /** Coming again to the same one, after a wait, is free. */
  async come(rank: number, { name, what, blocking = false }: Meeting): Promise<MeetingAnswer> {
    const room = this.#rooms.get(name) ?? { brought: new Map(), served: new Set(), waiting: [] }
    this.#rooms.set(name, room)
    room.brought.set(rank, what)
    if (blocking && this.#awaited(room).length > 0) this.#blocked.set(rank, name)
    if (this.#allApart()) this.#wakeAll()
    else if (this.#awaited(room).length > 0) await this.#patience(room)
    const awaited = this.#awaited(room)
    if (awaited.length > 0) return this.#allApart() ? this.#apart() : { kind: 'waiting', awaited }
    for (const wake of room.waiting) wake()
    this.#blocked.delete(rank)
    room.served.add(rank)
    // Kept a while after everyone was served: the last answer may be lost and asked for again.
    if (room.served.size === this.#ranks.length) setTimeout(() => this.#rooms.delete(name), 60_000).unref()
    return { kind: 'met', brought: this.#ranks.map((other) => room.brought.get(other)) }
  }

  /** This worker comes to no further meeting. */
  leave(rank: number): void {
    this.#left.add(rank)
    this.#blocked.delete(rank)
    if (this.#allApart()) this.#wakeAll()
  }

  #awaited({ brought }: Room): number[] {
    return this.#ranks.filter((other) => !brought.has(other))
  }

  /** Whether nobody is left who could come: each worker waits at a meeting that is not complete, or has left. */
  #allApart(): boolean {
    const stuck = (rank: number) => {
      const name = this.#blocked.get(rank)
      return name !== undefined && this.#awaited(this.#rooms.get(name)!).length > 0
    }
    return this.#blocked.size > 0 && this.#ranks.every((rank) => this.#left.has(rank) || stuck(rank))
  }

  #apart(): MeetingAnswer {
    return {
      kind: 'apart',
      places: Object.fromEntries(this.#ranks.map((rank) => [rank, this.#blocked.get(rank) ?? null])),
    }
  }

  #wakeAll(): void {
    for (const { waiting } of this.#rooms.values()) for (const wake of waiting) wake()
  }

  async #patience(room: Room): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#patienceMs).unref()
      room.waiting.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
