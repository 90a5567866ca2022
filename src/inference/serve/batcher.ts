/** @file Puts requests that come close together into one batch. While all threads are busy requests gather by themselves; a window makes them wait for company. */
import { performance } from 'node:perf_hooks'
import { busy, errorResponse, timedOut } from './errors.ts'
import type { ScoreRequest, ScoreResponse } from './messages.ts'
import type { ScorerPool } from './pool.ts'

export interface BatcherOptions {
  /** How long the first request of a batch waits for others; 0: only while threads are busy. */
  readonly windowMs: number
  /** Requests scored together at most. */
  readonly maxBatch: number
  /** Requests that may wait; more are refused. */
  readonly maxQueue: number
  /** After so long without an answer a request is refused. */
  readonly timeoutMs: number
  readonly onBatch: (requests: number) => void
}

interface Waiting {
  readonly request: ScoreRequest
  readonly since: number
  readonly resolve: (response: ScoreResponse) => void
}

export class Batcher {
  readonly #options: BatcherOptions
  #pool: ScorerPool
  #queue: Waiting[] = []
  #timer: NodeJS.Timeout | undefined
  #soon = false

  constructor(pool: ScorerPool, options: BatcherOptions) {
    this.#pool = pool
    this.#options = options
  }

  get queued(): number {
    return this.#queue.length
  }

  get pool(): ScorerPool {
    return this.#pool
  }

  /** The response to a request; it never rejects. */
  submit(request: ScoreRequest): Promise<ScoreResponse> {
    const { maxQueue, timeoutMs } = this.#options
    if (this.#queue.length >= maxQueue) return Promise.resolve(refusal(busy(this.#queue.length)))
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#queue = this.#queue.filter((other) => other !== waiting)
        resolve(refusal(timedOut(timeoutMs)))
      }, timeoutMs)
      const waiting: Waiting = {
        request,
        since: performance.now(),
        resolve: (response) => {
          clearTimeout(timer)
          resolve(response)
        },
      }
      this.#queue.push(waiting)
      this.#pumpSoon()
    })
  }

  /** From now on batches go to another pool; what the former one has is still answered by it. Returns the former. */
  swap(pool: ScorerPool): ScorerPool {
    const former = this.#pool
    this.#pool = pool
    this.#pumpSoon()
    return former
  }

  /** After the events of this turn, so that requests that arrived together go together. */
  #pumpSoon(): void {
    if (this.#soon) return
    this.#soon = true
    setImmediate(() => {
      this.#soon = false
      this.#pump()
    })
  }

  #pump(): void {
    const { windowMs, maxBatch, onBatch } = this.#options
    clearTimeout(this.#timer)
    while (this.#queue.length > 0 && this.#pool.free) {
      const waited = performance.now() - this.#queue[0]!.since
      if (this.#queue.length < maxBatch && waited < windowMs) {
        this.#timer = setTimeout(() => this.#pump(), Math.max(1, windowMs - waited))
        return
      }
      const batch = this.#queue.splice(0, maxBatch)
      onBatch(batch.length)
      void this.#pool.score(batch.map(({ request }) => request)).then((responses) => {
        for (const [i, { resolve }] of batch.entries()) resolve(responses[i]!)
        this.#pump()
      })
    }
  }
}

function refusal(error: Error): ScoreResponse {
  return { ...errorResponse(error), samples: 0 }
}
