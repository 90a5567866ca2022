/** @file A run in Prometheus' text format at a port of its own: gauges and counters that its events set. Loaded only where a port was asked for. */
import { createServer } from 'node:http'
import type { Registry } from 'prom-client'
import type { Event, EventOf, EventSink } from '../event/index.ts'
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
/** Gauges that promtool takes for counters by their names; those without `_total` have the same by type. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

export async function openMetrics(options: MetricsOptions): Promise<MetricsPort> {
  const prom = await import('prom-client')
  const registry = new prom.Registry()
  return { add: sinkOf(metersOf(registry, prom)), ...(await serveMetrics(registry, options)) }
}

/** Who else has something to count makes a registry of its own; that of the process is added. */
export async function serveMetrics(
  registry: Registry,
  { host, port, labels }: MetricsOptions,
): Promise<Omit<MetricsPort, 'add'>> {
  const { collectDefaultMetrics } = await import('prom-client')
  registry.setDefaultLabels({ ...labels })
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
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
  return { port: (server.address() as { readonly port: number }).port, close }
}

/** Every gauge and counter of a run, by what sets it. */
function metersOf(registry: Registry, { Counter, Gauge }: typeof import('prom-client')) {
  const registers = [registry]
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers })
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  return {
    samples: counter('oarfish_samples_total', 'Samples that this process has trained.'),
    batches: counter('oarfish_batches_total', 'Batches that this process has trained.'),
    warnings: counter('oarfish_warnings_total', 'Warnings that were said.'),
    saved: counter('oarfish_checkpoints_total', 'Checkpoints that are whole and in their place.'),
    epoch: gauge('oarfish_epoch', 'The epoch under way, from 0.'),
    rate: gauge('oarfish_samples_per_second', 'Samples a second between the last two printed batches.'),
    seconds: gauge('oarfish_batch_seconds', 'Seconds between two batches.'),
    part: gauge('oarfish_batch_part_seconds', 'Seconds of a batch by part of the step; wait is for input.', ['part']),
    metric: gauge('oarfish_metric', 'Metrics by name, over the epoch so far; phase is train or test.', [
      'name',
      'phase',
    ]),
    lag: gauge('oarfish_stream_lag', 'What of a stream is there and in no pass yet, in records or bytes.', ['unit']),
    stale: gauge('oarfish_staleness_steps', 'Steps of others between two of a thread: so old are its weights.'),
    learning: gauge('oarfish_learning_rate', 'Learning rate of the newest step.'),
    norm: gauge('oarfish_norm', 'Length of all gradients or weights of a batch together, by what they are.', ['of']),
    link: gauge('oarfish_link_bytes_per_second', 'What travels to another process and from it.', ['to', 'direction']),
    answer: gauge('oarfish_link_answer_seconds', 'From asking another process to its answer.', ['to']),
    rows: gauge('oarfish_table_rows', 'Rows of a table by level: memory or disk.', ['table', 'level']),
    bytes: gauge('oarfish_table_bytes', 'Bytes of a table by level: memory or disk.', ['table', 'level']),
  }
}

type Meters = ReturnType<typeof metersOf>

function setStep(
  { stale, learning, norm, link, answer }: Meters,
  { staleness, learningRate, norms, links = [] }: EventOf<'batch'>,
): void {
  if (staleness !== undefined) stale.set(staleness)
  if (learningRate !== undefined) learning.set(learningRate)
  for (const [of, value] of Object.entries(norms ?? {})) norm.set({ of }, value)
  for (const { to, sentBytesPerSecond, receivedBytesPerSecond, answerSeconds } of links) {
    link.set({ to, direction: 'sent' }, sentBytesPerSecond)
    link.set({ to, direction: 'received' }, receivedBytesPerSecond)
    answer.set({ to }, answerSeconds)
  }
}

function setTables({ rows, bytes }: Meters, { tables }: EventOf<'tables'>): void {
  for (const { table, memoryRows, memoryBytes, diskRows, diskBytes } of tables) {
    rows.set({ table, level: 'memory' }, memoryRows)
    rows.set({ table, level: 'disk' }, diskRows)
    bytes.set({ table, level: 'memory' }, memoryBytes)
    bytes.set({ table, level: 'disk' }, diskBytes)
  }
}

function sinkOf(meters: Meters): EventSink {
  const trained = new TrainedCount()
  return (event: Event) => {
    if (event.kind === 'warning') meters.warnings.inc()
    if (event.kind === 'saved') meters.saved.inc()
    if (event.kind === 'epochStart') meters.epoch.set(event.epoch)
    if (event.kind === 'tables') setTables(meters, event)
    if (event.kind === 'stream') meters.lag.set({ unit: event.unit }, event.lag)
    if (event.kind !== 'batch' && event.kind !== 'epoch') return
    const phase = event.phase === 'infer' ? 'test' : 'train'
    for (const [name, value] of Object.entries(event.metrics)) meters.metric.set({ name, phase }, value)
    const more = trained.add(event)
    meters.samples.inc(more.samples)
    meters.batches.inc(more.batches)
    if (event.kind === 'epoch' || phase === 'test') return
    setStep(meters, event)
    meters.rate.set(event.samplesPerSecond)
    meters.seconds.set(event.secondsPerBatch)
    meters.part.set({ part: 'wait' }, event.readerSecondsPerBatch)
    for (const [name, value] of Object.entries(event.breakdown ?? {})) meters.part.set({ part: name }, value)
  }
}
