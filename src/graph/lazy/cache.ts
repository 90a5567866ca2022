/** @file What was compiled, by key, up to a stated number; beyond it the longest unused goes. */

export interface CacheOptions<T> {
  /** Entries kept. */
  readonly size: number
  /** Frees an entry that goes. */
  readonly drop: (entry: T) => void | Promise<void>
  /** Called when entries begin to go and then whenever twice as many have gone. */
  readonly onOverflow: (dropped: number) => void
}

export class SessionCache<T> {
  readonly #options: CacheOptions<T>
  /** In the order of last use. */
  readonly #entries = new Map<string, T>()
  #dropped = 0

  constructor(options: CacheOptions<T>) {
    this.#options = options
  }

  entries(): Iterable<T> {
    return this.#entries.values()
  }

  async get(key: string, create: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key)
    if (known !== undefined) {
      this.#entries.delete(key)
      this.#entries.set(key, known)
      return known
    }
    if (this.#entries.size >= this.#options.size) await this.#dropOldest()
    const entry = await create()
    this.#entries.set(key, entry)
    return entry
  }

  async #dropOldest(): Promise<void> {
    const [key, entry] = this.#entries.entries().next().value!
    this.#entries.delete(key)
    this.#dropped++
    if (Number.isInteger(Math.log2(this.#dropped))) this.#options.onOverflow(this.#dropped)
    await this.#options.drop(entry)
  }
}
