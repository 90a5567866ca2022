/** @file Who is signed in on the page, and who has tried too often. In memory: a new start of the server signs everybody out. */
import { randomBytes } from 'node:crypto'

export interface Session {
  readonly id: string
  readonly user: string
  /** The key that it was opened with: a session is worth nothing once its user has other keys. */
  readonly ak: string
  readonly until: number
}

const LIFE_MS = 12 * 60 * 60_000 // 12 hours
const MOST_OF_USER = 20

export class Sessions {
  readonly #known = new Map<string, Session>()
  readonly #clock: () => number

  constructor(clock: () => number = Date.now) {
    this.#clock = clock
  }

  open(user: string, ak: string): Session {
    const now = this.#clock()
    for (const { id, until } of this.#known.values()) if (until < now) this.#known.delete(id)
    const own = [...this.#known.values()].filter((one) => one.user === user)
    for (const { id } of own.slice(0, Math.max(0, own.length - MOST_OF_USER + 1))) this.#known.delete(id)
    const session = { id: randomBytes(32).toString('base64url'), user, ak, until: now + LIFE_MS }
    this.#known.set(session.id, session)
    return session
  }

  of(id: string | undefined): Session | undefined {
    const found = id === undefined ? undefined : this.#known.get(id)
    return found && found.until >= this.#clock() ? found : undefined
  }

  end(id: string): void {
    this.#known.delete(id)
  }
}

const WINDOW_MS = 60_000
const MOST_FAILURES = 10
const MOST_ADDRESSES = 10_000

/** Failed attempts by address within a minute. Of IPv6 a network of 64 bits is one: who has one address there has them all. */
export class AttemptLimit {
  readonly #failed = new Map<string, { since: number; count: number }>()
  readonly #clock: () => number

  constructor(clock: () => number = Date.now) {
    this.#clock = clock
  }

  isOver(address: string): boolean {
    const found = this.#failed.get(networkOf(address))
    return found !== undefined && this.#clock() - found.since < WINDOW_MS && found.count >= MOST_FAILURES
  }

  fail(address: string): void {
    const [network, now] = [networkOf(address), this.#clock()]
    const found = this.#failed.get(network)
    if (found && now - found.since < WINDOW_MS) found.count++
    else this.#failed.set(network, { since: now, count: 1 })
    if (this.#failed.size <= MOST_ADDRESSES) return
    const [oldest] = this.#failed.keys()
    this.#failed.delete(oldest!)
  }
}

const networkOf = (address: string) =>
  address.includes('.') || !address.includes(':')
    ? address.replace(/^::ffff:/, '')
    : address.split(':').slice(0, 4).join(':')
