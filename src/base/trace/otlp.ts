/**
 * @file Spans to an OpenTelemetry collector by OTLP over HTTP in JSON, which every collector takes. The official exporter asks for Node 22.15 and brings a
 * dozen packages; the form of a request is stable and fits here.
 */
import type { Env } from '../env/index.ts'
import type { Span, SpanExporter } from './span.ts'
import { Tracer } from './tracer.ts'

const TIMEOUT_MS = 5000
/** Of all steps, unless OTEL_TRACES_SAMPLER_ARG says otherwise: a step takes milliseconds, and all would be a flood. */
const RATIO = 0.01
const KINDS = { internal: 1, server: 2, client: 3 } as const

export type Resource = Readonly<Record<string, string | number>>

/** By OpenTelemetry's own variables; undefined where no exporter is configured. */
export function openTracer(env: Env, resource: Resource): Tracer | undefined {
  const base = env['OTEL_EXPORTER_OTLP_ENDPOINT']
  const url = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? (base ? `${base.replace(/\/$/, '')}/v1/traces` : undefined)
  if (!url || env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none') return undefined
  const headers = pairs(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? env['OTEL_EXPORTER_OTLP_HEADERS'])
  const more = pairs(env['OTEL_RESOURCE_ATTRIBUTES'])
  const named = { 'service.name': env['OTEL_SERVICE_NAME'] ?? 'oarfish', ...more, ...resource }
  return new Tracer({ exporter: otlpExporter(url, headers, named), ratio: ratioOf(env) })
}

function ratioOf(env: Env): number {
  const sampler = env['OTEL_TRACES_SAMPLER'] ?? ''
  if (/always_on$/.test(sampler)) return 1
  if (/always_off$/.test(sampler)) return 0
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? Number.NaN)
  return ratio >= 0 && ratio <= 1 ? ratio : RATIO
}

/** `a=1,b=2`, values percent-encoded. */
function pairs(text = ''): Record<string, string> {
  const each = text.split(',').filter((pair) => pair.includes('='))
  return Object.fromEntries(
    each.map((pair) => {
      const at = pair.indexOf('=')
      return [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]
    }),
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function otlpExporter(url: string, headers: Readonly<Record<string, string>>, resource: Resource): SpanExporter {
  return {
    async export(spans) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(otlpRequest(spans, resource)),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      await response.arrayBuffer()
      if (!response.ok) throw new Error(`The collector at ${url} answers ${response.status}.`)
    },
  }
}

/** As opentelemetry-proto's JSON has it: times in nanoseconds as text, ids in hexadecimal. */
export function otlpRequest(spans: readonly Span[], resource: Resource) {
  const own = spans.map(({ traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes }) => ({
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: attributesOf(attributes),
    status: {},
  }))
  const scopeSpans = [{ scope: { name: 'oarfish' }, spans: own }]
  return { resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans }] }
}

const nanoseconds = (ms: number) => String(BigInt(Math.round(ms * 1000)) * 1000n)

const attributesOf = (attributes: Resource) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: typed(value) }))

function typed(value: string | number) {
  if (typeof value === 'string') return { stringValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
