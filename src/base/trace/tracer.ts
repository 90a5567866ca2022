/** @file Collects spans and hands them on in the background. A collector that is away costs spans, never a step. */
import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { Span, SpanExporter, TraceContext } from './span.ts'

const FLUSH_MS = 1000
const MOST_WAITING = 4096

export interface TracerOptions {
  readonly exporter: SpanExporter
  /** Of steps, how many are traced: from 0 to 1. */
  readonly ratio: number
}

export class Tracer {
  /** Spans that nobody took. */
  lost = 0
  readonly #exporter: SpanExporter
  readonly #ratio: number
  #waiting: Span[] = []
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> = Promise.resolve()
  #due = 1

  constructor({ exporter, ratio }: TracerOptions) {
    this.#exporter = exporter
    this.#ratio = ratio
  }

  /** A new trace, where its turn has come: the first, and then one in as many as the ratio says. */
  begin(): TraceContext | undefined {
    this.#due += this.#ratio
    if (this.#due < 1) return undefined
    this.#due %= 1
    return { traceId: randomBytes(16).toString('hex'), spanId: newSpanId() }
  }

  add(...spans: readonly Span[]): void {
    if (this.#waiting.length + spans.length > MOST_WAITING) this.lost += spans.length
    else this.#waiting.push(...spans)
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref()
  }

  /** Resolves when all that was added is sent or lost. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const spans = this.#waiting
    this.#waiting = []
    if (spans.length > 0)
      this.#sending = this.#sending
        .then(() => this.#exporter.export(spans))
        .catch(() => {
          this.lost += spans.length
        })
    await this.#sending
  }
}

export const newSpanId = () => randomBytes(8).toString('hex')

/** What performance.now() said, on the clock of all processes. */
export const epochMs = (at: number) => performance.timeOrigin + at
