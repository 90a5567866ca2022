/** @file A span as plain data: what took how long, within what. */

/** By which spans of other processes find their place in a trace; hexadecimal, as OpenTelemetry has them. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
}

export interface Span extends TraceContext {
  readonly parentSpanId?: string | undefined
  readonly name: string
  /** client and server: the two ends of one request. */
  readonly kind: 'internal' | 'client' | 'server'
  /** Milliseconds since 1970, with a fraction. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, string | number>>
}

/** Where spans go. It may take its time, and may fail: spans are lost then, nothing else. */
export interface SpanExporter {
  export(spans: readonly Span[]): Promise<void>
}

/** Keeps them: for tests, and for programs that send them elsewhere. */
export class MemoryExporter implements SpanExporter {
  readonly spans: Span[] = []

  async export(spans: readonly Span[]): Promise<void> {
    this.spans.push(...spans)
  }
}
