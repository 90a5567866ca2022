/** @file A run in Prometheus' text format at a port of its own: gauges and counters that its events set. Loaded only where a port was asked for. */
import { createServer } from 'node:http'
import type { Registry } from 'prom-client'
import type { Event, EventSink } from '../event/index.ts'
import { TrainedCount } from './trained-count.ts'

export interface MetricsPort {
  readonly add: EventSink
  readonly port: number
  close(): void
}

export interface MetricsOptions {
  readonly host: string
  readonly port: number
  readonly labels: Readonly<Record<string, string>>
}

const KEPT_MS = 500
const MOST_CONNECTIONS = 64

export async function openMetrics({ host, port, labels }: MetricsOptions): Promise<MetricsPort> {
  const prom = await import('prom-client')
  const registry = new prom.Registry()
  registry.setDefaultLabels({ ...labels })
  prom.collectDefaultMetrics({ register: registry })
  const set = sinkOf(registry, prom)
  // Whoever asks all the time gets the same text again: making it takes time from the batches.
  let made: { readonly at: number; readonly text: Promise<string> } | undefined
  const text = () => {
    if (!made || performance.now() - made.at > KEPT_MS) made = { at: performance.now(), text: registry.metrics() }
    return made.text
  }
  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return void response.writeHead(405).end()
    if (request.url !== '/metrics') return void response.writeHead(404).end()
    text().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      (error: Error) => response.writeHead(500).end(error.message),
    )
  })
  server.maxConnections = MOST_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  server.unref() // a scraper that keeps its connection does not keep the run
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { add: set, port: (server.address() as { readonly port: number }).port, close }
}

function sinkOf(registry: Registry, { Counter, Gauge }: typeof import('prom-client')): EventSink {
  const registers = [registry]
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers })
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const samples = counter('oarfish_samples_total', 'Samples that this process has trained.')
  const batches = counter('oarfish_batches_total', 'Batches that this process has trained.')
  const warnings = counter('oarfish_warnings_total', 'Warnings that were said.')
  const saved = counter('oarfish_checkpoints_total', 'Checkpoints that are whole and in their place.')
  const epoch = gauge('oarfish_epoch', 'The epoch under way, from 0.')
  const rate = gauge('oarfish_samples_per_second', 'Samples a second between the last two printed batches.')
  const seconds = gauge('oarfish_batch_seconds', 'Seconds between two batches.')
  const part = gauge('oarfish_batch_part_seconds', 'Seconds of a batch by part of the step; wait is for input.', [
    'part',
  ])
  const metric = gauge('oarfish_metric', 'Metrics by name, over the epoch so far; phase is train or test.', [
    'name',
    'phase',
  ])
  const lag = gauge('oarfish_stream_lag', 'What of a stream is there and in no pass yet, in records or bytes.', [
    'unit',
  ])
  const trained = new TrainedCount()
  const handle = (event: Event) => {
    if (event.kind === 'warning') warnings.inc()
    if (event.kind === 'saved') saved.inc()
    if (event.kind === 'epochStart') epoch.set(event.epoch)
    if (event.kind === 'stream') lag.set({ unit: event.unit }, event.lag)
    if (event.kind !== 'batch' && event.kind !== 'epoch') return
    const phase = event.phase === 'infer' ? 'test' : 'train'
    for (const [name, value] of Object.entries(event.metrics)) metric.set({ name, phase }, value)
    const more = trained.add(event)
    samples.inc(more.samples)
    batches.inc(more.batches)
    if (event.kind === 'epoch' || phase === 'test') return
    rate.set(event.samplesPerSecond)
    seconds.set(event.secondsPerBatch)
    part.set({ part: 'wait' }, event.readerSecondsPerBatch)
    for (const [name, value] of Object.entries(event.breakdown ?? {})) part.set({ part: name }, value)
  }
  return handle
}
