/** @file Whether the process at the other end of a connection still lives, by what comes over the connection and by its pulse. */
import { performance } from 'node:perf_hooks'
import { peerCutOff, peerSilent, peerStuck, SILENCE_MS, stuckText } from './errors.ts'
import type { PulseReading } from './pulse.ts'

export interface LivenessOptions {
  readonly who: string
  /** Silence after which the other side counts as dead. @default 10 seconds */
  readonly deadAfterMs?: number | undefined
  /** What a thread of its own has heard of the other side, so that a busy one is not taken for a dead one. @default nothing */
  readonly pulse?: (() => PulseReading) | undefined
  /** How long the main thread of a process that lives may not run. @default 3 minutes */
  readonly stuckAfterMs?: number | undefined
  /** Called now and then while that thread does not run, for longer than a silence may be. */
  readonly onStuck?: ((message: string) => void) | undefined
  /** Milliseconds that only grow. @default this process's */
  readonly clock?: (() => number) | undefined
}

/** How long a live process may take to answer, where nothing else is said. */
export const REQUEST_TIMEOUT_MS = 3 * 60 * 1000
const TELL_STUCK_EVERY_MS = 30 * 1000
/** A pulse comes several times within it. */
const RECENT_MS = 2000

export class Liveness {
  readonly #options: LivenessOptions
  readonly #clock: () => number
  #lookedAt: number
  /** When something last came: over the connection, and from the pulse. */
  #receivedAt: number
  #beatAt: number
  #beats = 0
  #receivedBytes = 0
  /** When its pulse last said that its main thread does not run, which then cannot send anything. */
  #busyAt = 0
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(options: LivenessOptions) {
    const { clock = () => performance.now() } = options
    this.#options = options
    this.#clock = clock
    this.#lookedAt = this.#receivedAt = this.#beatAt = clock()
  }

  /** A frame came. */
  received(): void {
    this.#receivedAt = this.#clock()
  }

  /** Called several times a second: why the other side counts as dead now. `receivedBytes`: of the connection, whole frames or not. */
  look(receivedBytes: number): Error | undefined {
    const now = this.#clock()
    // This process was busy or asleep itself: what the other side sent meanwhile is still unread.
    if (now - this.#lookedAt > 1000) this.#receivedAt = Math.max(this.#receivedAt, now - 1000)
    this.#lookedAt = now
    // A long frame that is still coming is a sign of life too.
    if (receivedBytes !== this.#receivedBytes) this.#receivedAt = now
    this.#receivedBytes = receivedBytes
    const { who, deadAfterMs = SILENCE_MS, stuckAfterMs = REQUEST_TIMEOUT_MS } = this.#options
    const stuckMs = this.#lookAtPulse(now)
    const silentMs = now - Math.max(this.#receivedAt, this.#beatAt)
    if (silentMs > deadAfterMs) return peerSilent(who, silentMs, deadAfterMs)
    if (stuckMs > Math.max(stuckAfterMs, deadAfterMs)) return peerStuck(who, stuckMs)
    if (stuckMs > deadAfterMs) this.#report(now, stuckMs)
    // Its main thread runs, so it sends something every second: this connection does not carry it.
    const quietMs = now - Math.max(this.#receivedAt, this.#busyAt)
    const isHeard = now - this.#beatAt < RECENT_MS
    return isHeard && quietMs > deadAfterMs ? peerCutOff(who, quietMs) : undefined
  }

  /** How long the other's main thread has not run. */
  #lookAtPulse(now: number): number {
    const { beats, stuckMs } = this.#options.pulse?.() ?? { beats: 0, stuckMs: 0 }
    if (beats !== this.#beats) {
      this.#beatAt = now
      if (stuckMs > 0) this.#busyAt = now
    }
    this.#beats = beats
    return now - this.#busyAt < RECENT_MS ? stuckMs : 0
  }

  #report(now: number, stuckMs: number): void {
    if (now - this.#toldAt < TELL_STUCK_EVERY_MS) return
    this.#toldAt = now
    this.#options.onStuck?.(stuckText(this.#options.who, stuckMs))
  }
}
