/** @file Values of all workers, gathered at a server: each brings one and gets those of all. Barriers, metrics and file lists are gathered so. */

/** What a worker brings; names are used once in a job. */
export interface GatherRequest {
  readonly name: string
  readonly what: unknown
  /** The worker does nothing else until it has the others' values. @default false */
  readonly blocking?: boolean | undefined
}

/** Where each worker is, by rank: what it waits at, or null when it has left. */
export type WaitingPlaces = Readonly<Record<number, string | null>>

export type GatherAnswer =
  | { readonly kind: 'met'; readonly brought: readonly unknown[] }
  /** Not everyone is here yet: ask again. */
  | { readonly kind: 'waiting'; readonly awaited: readonly number[] }
  /** Nobody will come any more: all wait elsewhere or have left. */
  | { readonly kind: 'apart'; readonly places: WaitingPlaces }

interface Gathering {
  readonly brought: Map<number, unknown>
  readonly served: Set<number>
  waiting: (() => void)[]
}

/** An answer is given after so long at the latest, so that those who wait can say whom they wait for. */
const PATIENCE_MS = 3000

export class AllGather {
  readonly #ranks: readonly number[]
  readonly #patienceMs: number
  readonly #gatherings = new Map<string, Gathering>()
  /** Where workers wait that do nothing else, by rank. */
  readonly #blocked = new Map<number, string>()
  readonly #left = new Set<number>()

  constructor(workers: number, patienceMs: number = PATIENCE_MS) {
    this.#ranks = Array.from({ length: workers }, (_, i) => i)
    this.#patienceMs = patienceMs
  }

  /** Resolves to all values, or after a while to who is missing; then it is joined again with the same value. */
  async join(rank: number, { name, what, blocking = false }: GatherRequest): Promise<GatherAnswer> {
    const gathering = this.#gatherings.get(name) ?? { brought: new Map(), served: new Set(), waiting: [] }
    this.#gatherings.set(name, gathering)
    gathering.brought.set(rank, what)
    if (blocking && this.#awaited(gathering).length > 0) this.#blocked.set(rank, name)
    if (this.#allApart()) this.#wakeAll()
    else if (this.#awaited(gathering).length > 0) await this.#patience(gathering)
    const awaited = this.#awaited(gathering)
    if (awaited.length > 0) return this.#allApart() ? this.#apart() : { kind: 'waiting', awaited }
    for (const wake of gathering.waiting) wake()
    this.#blocked.delete(rank)
    gathering.served.add(rank)
    // Kept a while after everyone was served: the last answer may be lost and asked for again.
    if (gathering.served.size === this.#ranks.length) setTimeout(() => this.#gatherings.delete(name), 60_000).unref()
    return { kind: 'met', brought: this.#ranks.map((other) => gathering.brought.get(other)) }
  }

  /** This worker brings nothing any more. */
  leave(rank: number): void {
    this.#left.add(rank)
    this.#blocked.delete(rank)
    if (this.#allApart()) this.#wakeAll()
  }

  #awaited({ brought }: Gathering): number[] {
    return this.#ranks.filter((other) => !brought.has(other))
  }

  /** Whether nobody is left who could come: each worker waits at one that is not complete, or has left. */
  #allApart(): boolean {
    const stuck = (rank: number) => {
      const name = this.#blocked.get(rank)
      return name !== undefined && this.#awaited(this.#gatherings.get(name)!).length > 0
    }
    return this.#blocked.size > 0 && this.#ranks.every((rank) => this.#left.has(rank) || stuck(rank))
  }

  #apart(): GatherAnswer {
    return {
      kind: 'apart',
      places: Object.fromEntries(this.#ranks.map((rank) => [rank, this.#blocked.get(rank) ?? null])),
    }
  }

  #wakeAll(): void {
    for (const { waiting } of this.#gatherings.values()) for (const wake of waiting) wake()
  }

  async #patience(gathering: Gathering): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#patienceMs).unref()
      gathering.waiting.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
