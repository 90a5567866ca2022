/** @file Spans: how many steps are traced, what an exporter gets, and what happens while it is away. */
import { expect, test } from 'vitest'
import { MemoryExporter, newSpanId, openTracer, otlpRequest, type Span, Tracer } from './index.ts'

const span = (name: string): Span => ({
  ...{ traceId: 'ab'.repeat(16), spanId: newSpanId(), name, kind: 'internal' },
  ...{ startMs: 1_700_000_000_000.25, endMs: 1_700_000_000_001.5, attributes: { step: 3, share: 0.5, who: 'me' } },
})

test('one step in as many as the ratio says is traced, the first among them, each with an id of its own', () => {
  const exporter = new MemoryExporter()
  const begun = (ratio: number) => {
    const tracer = new Tracer({ exporter, ratio })
    return Array.from({ length: 100 }, () => tracer.begin())
  }
  expect([0, 0.1, 1].map((ratio) => begun(ratio).filter(Boolean).length)).toEqual([1, 10, 100])
  const every = begun(1).map((one) => one!.traceId)
  expect(new Set(every).size).toBe(100)
  expect(every[0]).toMatch(/^[0-9a-f]{32}$/)
})

test('spans reach the exporter; one that is away costs spans and is asked again', async () => {
  const memory = new MemoryExporter()
  let isAway = true
  const tracer = new Tracer({
    exporter: { export: async (spans) => (isAway ? Promise.reject(new Error('away')) : memory.export(spans)) },
    ratio: 1,
  })
  tracer.add(span('lost'), span('too'))
  await tracer.flush()
  expect(tracer.lost).toBe(2)
  isAway = false
  tracer.add(span('kept'))
  await tracer.flush()
  expect(memory.spans.map(({ name }) => name)).toEqual(['kept'])
})

test('a request has the form of opentelemetry-proto', () => {
  const [resource] = otlpRequest([{ ...span('step'), kind: 'client' }], { 'service.name': 'oarfish' }).resourceSpans
  expect(resource!.resource.attributes).toEqual([{ key: 'service.name', value: { stringValue: 'oarfish' } }])
  expect(resource!.scopeSpans[0]!.spans[0]).toMatchObject({
    kind: 3,
    startTimeUnixNano: '1700000000000250000',
    endTimeUnixNano: '1700000000001500000',
    attributes: [
      { key: 'step', value: { intValue: '3' } },
      { key: 'share', value: { doubleValue: 0.5 } },
      { key: 'who', value: { stringValue: 'me' } },
    ],
  })
})

test('nothing is opened where no exporter is configured, or it is turned off', () => {
  expect(openTracer({}, {})).toBeUndefined()
  const set = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
  expect(openTracer({ ...set, OTEL_SDK_DISABLED: 'true' }, {})).toBeUndefined()
  expect(openTracer({ ...set, OTEL_TRACES_EXPORTER: 'none' }, {})).toBeUndefined()
  expect(openTracer(set, {})).toBeDefined()
})
