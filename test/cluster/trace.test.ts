/** @file A step through worker and servers as one trace, at a collector that speaks OTLP. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { alive, run } from './launch.testing.ts'

const CONFIG = fileURLToPath(new URL('../../models/rank/dnn/config.yaml', import.meta.url))

interface Received {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  /** `trainer 0`, `server 1`. */
  readonly who: string
}

let folder: string
let collector: Server
const spans: Received[] = []
const headers: (string | undefined)[] = []
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-trace-'))
  collector = createServer((request, response) => {
    headers.push(request.headers['x-key'] as string | undefined)
    void json(request).then((body) => {
      for (const { resource, scopeSpans } of (body as { resourceSpans: ResourceSpans[] }).resourceSpans) {
        const value = (key: string) => Object.values(resource.attributes.find((own) => own.key === key)!.value)[0]
        const who = `${value('oarfish.role')} ${value('oarfish.rank')}`
        spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, who }))))
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done))
})
afterAll(async () => {
  await new Promise((done) => collector.close(done))
  rmSync(folder, { recursive: true, force: true })
})

interface ResourceSpans {
  readonly resource: { readonly attributes: { readonly key: string; readonly value: Record<string, string> }[] }
  readonly scopeSpans: { readonly spans: Omit<Received, 'who'>[] }[]
}

test('a traced step has its parts in order, and below pull and push what each server did', async () => {
  const { port } = collector.address() as { readonly port: number }
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  }
  const out = ['-o', `runner.model_save_path=${join(folder, 'out')}`, '-o', 'runner.epochs=1']
  const launched = ['--log_dir', join(folder, 'log'), '--worker_num=1', '--server_num=2', 'tools/static_ps_trainer.py']
  const { code, err, mark } = await run('fleetrun', [...launched, '-m', CONFIG, ...out], { cwd: folder, env })
  expect([code, alive(mark)], err).toEqual([0, []])
  expect(new Set(headers)).toEqual(new Set(['a b']))
  const steps = spans.filter(({ name }) => name === 'step')
  expect(steps.length).toBeGreaterThan(0)
  for (const step of steps) {
    const below = (parent: Received) => spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId)
    const parts = below(step)
    expect(parts.map(({ name }) => name)).toEqual(['load', 'lookup', 'pull', 'gather', 'compute', 'merge', 'push'])
    expect(parts.every(({ who, traceId }) => who === 'trainer 0' && traceId === step.traceId)).toBe(true)
    for (const name of ['pull', 'push']) {
      const served = below(parts.find((part) => part.name === name)!)
      expect(served.map((span) => span.name)).toEqual([`serve ${name}`, `serve ${name}`])
      expect(served.map(({ who }) => who).sort()).toEqual(['server 0', 'server 1'])
    }
    const times = parts.map(({ startTimeUnixNano }) => BigInt(startTimeUnixNano))
    expect(times).toEqual([...times].sort((a, b) => Number(a - b)))
    expect(BigInt(step.endTimeUnixNano) - BigInt(step.startTimeUnixNano)).toBeGreaterThan(0n)
  }
})
