/**
 * @file Spans of steps for OpenTelemetry: plain data, collected and sent where a collector is configured.
 * Knows nothing of steps or servers; without a collector nobody opens a tracer.
 */
export { openTracer, otlpRequest } from './otlp.ts'
export { MemoryExporter, type Span, type SpanExporter, type TraceContext } from './span.ts'
export { epochMs, newSpanId, Tracer } from './tracer.ts'
