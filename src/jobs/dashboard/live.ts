/** @file Server-sent events: who looks hears that a run has changed, all of them by the same few bytes. */
import type { ServerResponse } from 'node:http'

const TICK_MS = 2000
/** Everyone who hears of a change asks for it: the more look, the rarer they hear, so that they cost a small part of a core. */
const LISTENER_MS = 40
/** A proxy ends what is silent for long. */
const ALIVE_MS = 20_000

/** `stamp` says what a topic (a run, or the list of runs) is now; it is asked only while somebody listens. */
export class LiveFeed {
  readonly #stamp: (topic: string) => string
  readonly #topics = new Map<string, { seen: string; toldAt: number; readonly listeners: Set<ServerResponse> }>()
  #timer: NodeJS.Timeout | undefined
  #saidAt = 0

  constructor(stamp: (topic: string) => string) {
    this.#stamp = stamp
  }

  add(topic: string, response: ServerResponse): void {
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    response.write(': hello\n\n')
    const known = this.#topics.get(topic) ?? {
      seen: this.#stampOr(topic, ''),
      toldAt: Number.NEGATIVE_INFINITY,
      listeners: new Set(),
    }
    known.listeners.add(response)
    this.#topics.set(topic, known)
    // The first who listens has heard something this moment.
    if (!this.#timer) this.#saidAt = performance.now()
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref()
    response.on('close', () => {
      known.listeners.delete(response)
      if (known.listeners.size === 0) this.#topics.delete(topic)
      if (this.#topics.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    })
  }

  #tick(): void {
    const at = performance.now()
    const isAliveDue = at - this.#saidAt > ALIVE_MS
    if (isAliveDue) this.#saidAt = at
    for (const [topic, known] of this.#topics) {
      const isRested = at - known.toldAt >= LISTENER_MS * known.listeners.size - TICK_MS / 2
      const now = isRested ? this.#stampOr(topic, known.seen) : known.seen
      if (now === known.seen && !isAliveDue) continue
      const text = now === known.seen ? ': still here\n\n' : 'event: changed\ndata: 1\n\n'
      if (now !== known.seen) known.toldAt = at
      known.seen = now
      for (const response of known.listeners) if (!response.writableNeedDrain) response.write(text)
    }
  }

  /** A folder that cannot be read at this moment has not changed: the next look tells. */
  #stampOr(topic: string, seen: string): string {
    try {
      return this.#stamp(topic)
    } catch {
      return seen
    }
  }

  close(): void {
    clearInterval(this.#timer)
    for (const { listeners } of this.#topics.values()) for (const response of listeners) response.end()
  }
}
