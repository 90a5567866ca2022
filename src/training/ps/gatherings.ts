/** @file Who has brought what where, of values that all workers gather: what each may be answered now. Knows nothing of time or connections. */

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
}

export class Gatherings {
  readonly #ranks: readonly number[]
  readonly #open = new Map<string, Gathering>()
  /** Where workers wait that do nothing else, by rank. */
  readonly #blocked = new Map<number, string>()
  readonly #left = new Set<number>()

  constructor(workers: number) {
    this.#ranks = Array.from({ length: workers }, (_, i) => i)
  }

  /** A worker brings its value; the same again, when it asks again. */
  bring(rank: number, { name, what, blocking = false }: GatherRequest): void {
    const gathering = this.#open.get(name) ?? { brought: new Map(), served: new Set() }
    this.#open.set(name, gathering)
    gathering.brought.set(rank, what)
    if (blocking && this.#awaited(gathering).length > 0) this.#blocked.set(rank, name)
  }

  /** What a worker that has brought its value there is answered now. */
  answer(rank: number, name: string): GatherAnswer {
    const gathering = this.#open.get(name)!
    const awaited = this.#awaited(gathering)
    if (awaited.length > 0) return this.areApart ? this.#apart() : { kind: 'waiting', awaited }
    this.#blocked.delete(rank)
    gathering.served.add(rank)
    return { kind: 'met', brought: this.#ranks.map((other) => gathering.brought.get(other)) }
  }

  /** Everyone has had its answer once. The last may be lost and asked for again, so it is kept until it is forgotten. */
  isServed(name: string): boolean {
    return this.#open.get(name)?.served.size === this.#ranks.length
  }

  forget(name: string): void {
    this.#open.delete(name)
  }

  /** This worker brings nothing any more. */
  leave(rank: number): void {
    this.#left.add(rank)
    this.#blocked.delete(rank)
  }

  /** Whether nobody is left who could come: each worker waits at one that is not complete, or has left. */
  get areApart(): boolean {
    const stuck = (rank: number) => {
      const name = this.#blocked.get(rank)
      return name !== undefined && this.#awaited(this.#open.get(name)!).length > 0
    }
    return this.#blocked.size > 0 && this.#ranks.every((rank) => this.#left.has(rank) || stuck(rank))
  }

  #awaited({ brought }: Gathering): number[] {
    return this.#ranks.filter((other) => !brought.has(other))
  }

  #apart(): GatherAnswer {
    return {
      kind: 'apart',
      places: Object.fromEntries(this.#ranks.map((rank) => [rank, this.#blocked.get(rank) ?? null])),
    }
  }
}
