/** @file The loop: read a batch, hand it to a trainer, watch. One call is one phase of one epoch. */
import { performance } from 'node:perf_hooks'
import type { BatchReader } from '../data/index.ts'
import type { EventSink, Metrics } from '../event/index.ts'
import type { MetricSpec } from '../metric/index.ts'
import type { MeterState, Position } from '../snapshot/index.ts'
import type { Phase } from './messages.ts'
import { Meter, metricsOf } from './meter.ts'
import { reportFields } from './meter-reports.ts'
import { sliceBatch } from './slices.ts'
import { AHEAD, type StepReport, type TrainerPool } from './trainer-pool.ts'

export interface PassOptions {
  readonly phase: Phase
  readonly epoch: number
  readonly reader: BatchReader
  readonly trainers: TrainerPool
  /** Where the pool's step reports go while this pass runs. */
  readonly reports: { listener: (report: StepReport) => void }
  readonly printInterval: number
  readonly emit: EventSink
  /** Threads take slices of every batch instead of batches of their own. @default false */
  readonly sliced?: boolean
  /** Batch k of every rank is one step: an abort anywhere ends all of them after the same batch. @default false */
  readonly inStep?: boolean
  readonly signal: AbortSignal
  /** Where in the epoch `reader` begins, and what was measured before it. @default the beginning */
  readonly from?: PassStart
  /** Called after a batch is handed out; what it returns is awaited once every batch so far is applied. */
  readonly afterBatch?: (index: number) => (() => Promise<void>) | undefined
  /** What is measured, for reports that are more than a number. */
  readonly specs?: readonly MetricSpec[]
  /** Sees every step. */
  readonly onReport?: (report: StepReport) => void
  /** Adds up what all workers have measured; the epoch's event then tells of all. @default this process alone */
  readonly together?: (own: MeterState) => Promise<MeterState>
}

/** A place to begin a pass, as a checkpoint keeps it. */
export interface PassStart {
  readonly position: Position
  readonly meter?: MeterState
  /** What all ranks together have measured before; `meter` then has it at one of them. @default `meter` */
  readonly before?: MeterState
}

export interface PassResult {
  /** Of this run; metrics and `meter` are of the whole epoch so far. */
  readonly samples: number
  readonly seconds: number
  readonly metrics: Metrics
  readonly breakdown: Readonly<Record<string, number>>
  /** Time the loop waited for the reader. */
  readonly readerSeconds: number
  readonly lastBatch: number
  readonly interrupted: boolean
  /** Where to go on: every batch before it is applied. */
  readonly position: Position
  readonly meter: MeterState
}

/** Runs every batch of `reader` through the trainers. An abort ends it after the steps under way. */
export async function runPass({
  phase,
  epoch,
  reader,
  trainers,
  reports,
  printInterval,
  emit,
  signal,
  from = { position: { epoch, batch: 0, chunk: 0, sample: 0 } },
  together = async (own) => own,
  afterBatch,
  onReport,
  specs = [],
  sliced = false,
  inStep = false,
}: PassOptions): Promise<PassResult> {
  const meter = new Meter(phase, epoch, from.meter)
  let { position } = from
  let last = Number.POSITIVE_INFINITY
  const wanted = (index: number) => index % printInterval === 0
  reports.listener = (report) => {
    const whole = meter.add(report)
    // By then every rank may have handed out that many more, but none of them more than that.
    if (inStep && report.stopping) last = Math.min(last, report.index + AHEAD)
    onReport?.(report)
    if (whole && wanted(report.index)) emit(meter.batchEvent(report, specs))
  }
  let asked = performance.now()
  for await (const batch of reader) {
    meter.readerSeconds += (performance.now() - asked) / 1000
    if (inStep ? batch.index > last : signal.aborted) break
    if (sliced) await trainers.submitSlices(phase, sliceBatch(batch, trainers.size), wanted(batch.index))
    else await trainers.submit(phase, batch, wanted(batch.index), inStep && signal.aborted)
    position = { epoch, batch: batch.index + 1, ...batch.cursor }
    const pause = afterBatch?.(batch.index)
    if (pause) {
      await trainers.drain()
      await pause()
    }
    asked = performance.now()
  }
  const before = from.before ?? from.meter
  const { histograms, seconds: breakdown } = await trainers.finish(phase, signal.aborted)
  const state = await together(meter.state(histograms))
  const { samples, seconds } = state
  const metrics = metricsOf(state)
  if (!signal.aborted)
    emit({
      ...{ kind: 'epoch', phase, epoch, samples, seconds, samplesPerSecond: samples / seconds, metrics },
      ...reportFields(specs, state),
    })
  return {
    samples: samples - (before?.samples ?? 0),
    seconds: seconds - (before?.seconds ?? 0),
    metrics,
    breakdown,
    readerSeconds: meter.readerSeconds,
    lastBatch: meter.lastBatch,
    interrupted: signal.aborted,
    position,
    meter: state,
  }
}
