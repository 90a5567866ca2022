/** @file Who was refused: told at most once a second, and not even listened to when a host tries too often. */
import type { EventSink } from '../event/index.ts'
import { SilentCaller } from '../net/index.ts'
import { formatUserError, isUserError } from '../util/index.ts'

/** So that strangers cannot fill the log. */
const WARN_EVERY_MS = 1000
/** Hellos of one host that may fail in a second; a worker that comes meanwhile tries again by itself. */
const REFUSALS_A_SECOND = 20

export class Strangers {
  readonly #emit: EventSink
  readonly #now: () => number
  #warnedAt = Number.NEGATIVE_INFINITY
  #untold = 0
  readonly #refusals = new Map<string, { second: number; count: number }>()

  constructor(emit: EventSink, now: () => number = Date.now) {
    this.#emit = emit
    this.#now = now
  }

  isTooOften(remote: string): boolean {
    const known = this.#refusals.get(hostOf(remote))
    return known?.second === this.#second && known.count >= REFUSALS_A_SECOND
  }

  refused(remote: string, error: unknown): void {
    const host = hostOf(remote)
    const known = this.#refusals.get(host)
    const count = known?.second === this.#second ? known.count : 0
    // Of hosts whose second is over nothing needs to be known.
    for (const [other, { second }] of this.#refusals) if (second !== this.#second) this.#refusals.delete(other)
    this.#refusals.set(host, { second: this.#second, count: count + 1 })
    if (!(error instanceof SilentCaller)) this.#warn(error)
  }

  #warn(error: unknown): void {
    this.#untold++
    if (this.#now() - this.#warnedAt < WARN_EVERY_MS) return
    const message = isUserError(error) ? formatUserError(error) : String(error)
    const others = this.#untold > 1 ? ` (and ${this.#untold - 1} more since the last such line)` : ''
    this.#emit({ kind: 'warning', message: `A connection was refused${others}: ${message}` })
    this.#warnedAt = this.#now()
    this.#untold = 0
  }

  get #second(): number {
    return Math.floor(this.#now() / 1000)
  }
}

function hostOf(remote: string): string {
  return remote.slice(0, remote.lastIndexOf(':'))
}
