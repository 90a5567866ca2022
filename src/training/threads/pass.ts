/** @file The loop over batches: read one, hand it to a trainer, watch. One call is one phase of one epoch. */
import { performance } from 'node:perf_hooks'
import type { JobConfig } from '../../base/config/index.ts'
import type { EventSink, Metrics } from '../../base/event/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { Batch } from '../../data/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { stepFactors } from '../../weights/optim/index.ts'
import type { LinkCount } from '../../weights/params/index.ts'
import type { MeterState, Position } from '../../weights/snapshot/index.ts'
import type { Phase } from './messages.ts'
import { calibrationFields, Meter, meterNotices, metricsOf, reportFields, sliceFields } from './meter.ts'
import type { RowTiers } from './row-tiers.ts'
import type { TableWatch } from './table-watch.ts'
import { AHEAD, type StepReport, type TrainerPool } from './trainer-pool.ts'
import type { TrainingWatch } from './training-watch.ts'

export interface PassOptions {
  readonly config: JobConfig
  readonly model: Pick<TracedModel, 'metrics'> & Partial<Pick<TracedModel, 'optimizer'>>
  /** Its first batch is the one of `from`; closed at the end, unless the pass pauses. */
  readonly batches: AsyncIterator<Batch>
  /** Input bytes of the whole pass. */
  readonly totalBytes: number
  readonly trainers: TrainerPool
  readonly emit: EventSink
  readonly signal: AbortSignal
  /** Where in the epoch `reader` begins, and what was measured before it. @default the beginning */
  readonly from?: PassStart | undefined
  /** Whether to pause before this batch: asked before each but the first. @default never */
  readonly pauses?: ((batch: number) => boolean) | undefined
  readonly hooks?: PassHooks | undefined
  /** Learns which batches are done, where their rows are kept in memory until then. */
  readonly tiers?: Pick<RowTiers, 'done'> | undefined
  /** Says now and then how large tables are. @default they are elsewhere */
  readonly tables?: TableWatch | undefined
  /** Says when training goes wrong. @default nobody looks */
  readonly watch?: TrainingWatch | undefined
}

/** What happens around the batches of a pass, where this process does not train alone. */
export interface PassHooks {
  /** Batch k of every rank is one step: an abort anywhere ends all of them after the same batch. @default false */
  readonly inStep?: boolean | undefined
  /** Sees every step. */
  readonly onReport?: ((report: StepReport) => void) | undefined
  /** Called before a batch is handed out; what it returns is awaited. */
  readonly beforeBatch?: (() => Promise<void> | undefined) | undefined
  /** Called after a batch is handed out; what it returns is awaited once every batch so far is applied. */
  readonly afterBatch?: ((index: number) => (() => Promise<void>) | undefined) | undefined
  /** What has travelled beside what the threads of this process count. @default nothing */
  readonly links?: (() => readonly LinkCount[]) | undefined
  /** Called when every batch is applied: brings the rest to where the other processes see it. */
  readonly settle?: (() => Promise<void>) | undefined
  /** Sums over the samples of this pass by name, beside those that steps report. @default none */
  readonly measure?: (() => Promise<Readonly<Record<string, number>>>) | undefined
  /** Adds up what all processes have measured; the epoch's event is then about all. @default this process alone */
  readonly sumUp?: ((own: MeterState, paused: boolean) => Promise<PassSum>) | undefined
}

/** What all processes have measured together, and whether one of them was stopped or has paused before its last batch. */
export interface PassSum {
  readonly meter: MeterState
  readonly interrupted: boolean
  readonly paused: boolean
}

/** A place to begin a pass, as a checkpoint keeps it. */
export interface PassStart {
  readonly position: Position
  readonly meter?: MeterState | undefined
  /** What all ranks together have measured before; `meter` then has it at one of them. @default `meter` */
  readonly before?: MeterState | undefined
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
  /** A process has more to read: `goOn` begins the next part of the pass. */
  readonly paused: boolean
  /** Where to go on: every batch before it is applied. */
  readonly position: Position
  readonly meter: MeterState
  /** What this process has measured of it. */
  readonly own: MeterState
}

/** Where a pass that has paused goes on. */
export function goOn({ position, own, meter }: PassResult): PassStart {
  return { position, meter: own, before: meter }
}

/** Runs every batch through the trainers. An abort ends it after the steps under way; a pause, so that it can go on. */
export async function runPass(phase: Phase, epoch: number, options: PassOptions): Promise<PassResult> {
  const { batches, trainers, signal, pauses, hooks = {} } = options
  const from: PassStart = options.from ?? beginningOf(epoch)
  const meter = new Meter(phase, epoch, from.meter)
  let { position } = from
  const steps = watchSteps(phase, meter, from, options)

  const takeBatch = async (batch: Batch): Promise<boolean> => {
    await hooks.beforeBatch?.()
    if (hooks.inStep ? batch.index > steps.last : signal.aborted) return false
    await trainers.submit(phase, batch, steps.isReported(batch.index), hooks.inStep && signal.aborted)
    position = { epoch, batch: batch.index + 1, ...batch.cursor }
    const whenApplied = hooks.afterBatch?.(batch.index)
    if (whenApplied) {
      await trainers.drain()
      await whenApplied()
    }
    return true
  }

  let paused = false
  try {
    for (let more = true; more && !paused; ) {
      const asked = performance.now()
      const { value: batch, done } = await batches.next()
      meter.readerSeconds += (performance.now() - asked) / 1000
      more = !done && (await takeBatch(batch))
      paused = more && (pauses?.(position.batch) ?? false)
    }
  } finally {
    if (!paused) await batches.return?.()
  }

  const { histograms, groups, seconds: breakdown } = await trainers.finish(phase, signal.aborted)
  const counted = meter.state(histograms, groups)
  const measured = signal.aborted || paused ? undefined : await hooks.measure?.()
  const own = measured ? { ...counted, sums: { ...counted.sums, ...measured } } : counted
  await hooks.settle?.()
  const sum = (await hooks.sumUp?.(own, paused)) ?? { meter: own, interrupted: signal.aborted, paused }
  const { samples, seconds } = sum.meter
  if (samples === 0 && options.totalBytes > 0 && !signal.aborted && !from.meter) throw noSamples(phase)
  if (!signal.aborted && !sum.paused) {
    reportEpoch(phase, epoch, { batches: position.batch, samples: own.samples }, sum.meter, from, options)
  }
  const earlier = from.before ?? from.meter
  return {
    samples: samples - (earlier?.samples ?? 0),
    seconds: seconds - (earlier?.seconds ?? 0),
    metrics: metricsOf(sum.meter),
    breakdown,
    readerSeconds: meter.readerSeconds,
    lastBatch: meter.lastBatch,
    position,
    own,
    ...sum,
  }
}

/** Measures every step as it is done, and reports each of `print_interval`. `last` is the batch after which processes in step have agreed to end. */
function watchSteps(phase: Phase, meter: Meter, from: PassStart, options: PassOptions) {
  const { trainers, emit, hooks = {}, watch, tiers, config } = options
  const { metrics: specs, optimizer } = options.model
  const steps = {
    last: Number.POSITIVE_INFINITY,
    isReported: (index: number) => index % config.runner.print_interval === 0,
  }
  watch?.begin(from.meter)
  trainers.onStep = (report) => {
    const whole = meter.add(report)
    if (whole) tiers?.done(report.index)
    // By then every rank may have handed out that many more, but none of them more than that.
    if (hooks.inStep && report.stopping) steps.last = Math.min(steps.last, report.index + AHEAD)
    hooks.onReport?.(report)
    if (report.result.rowRms !== undefined) watch?.rows(report.result.rowRms)
    if (!whole || !steps.isReported(report.index)) return
    if (hooks.links) meter.travelled(hooks.links())
    const rate = optimizer && meter.step > 0 ? { learningRate: stepFactors(optimizer, meter.step).baseRate } : {}
    emit({ ...meter.batchEvent(report, specs), ...rate, ...trainedBefore(from) })
    if (phase === 'train') options.tables?.look(emit)
    watch?.look(meter.reported)
  }
  return steps
}

function reportEpoch(
  phase: Phase,
  epoch: number,
  own: { readonly batches: number; readonly samples: number },
  all: MeterState,
  from: PassStart,
  { emit, model }: PassOptions,
): void {
  const { samples, seconds } = all
  for (const message of meterNotices(all)) emit({ kind: 'notice', message })
  emit({
    kind: 'epoch',
    phase,
    epoch,
    samples,
    seconds,
    samplesPerSecond: samples / seconds,
    own,
    ...trainedBefore(from),
    metrics: metricsOf(all),
    ...reportFields(model.metrics, all),
    ...sliceFields(all),
    ...calibrationFields(all),
  })
}

/** What a pass that goes on inside its epoch finds done, as events have it. */
function trainedBefore({ position: { batch: batches }, meter }: PassStart) {
  return batches > 0 ? { before: { batches, samples: meter?.samples ?? 0 } } : {}
}

/** A reader that gives nothing of what it reads would end in an untrained model and exit 0. */
export function noSamples(phase: Phase): UserError {
  return new UserError(`The reader gave no sample of the ${phase === 'train' ? 'training' : 'test'} data.`, {
    code: 'DATA_EMPTY',
    hint: `Look at the files of runner.${phase === 'train' ? 'train' : 'test'}_data_dir, and at what a reader of your own yields of them.`,
  })
}

/** The start of a pass that reads an epoch from its beginning. */
export function beginningOf(epoch: number): Pick<PassStart, 'position'> {
  return { position: { epoch, batch: 0, chunk: 0, sample: 0 } }
}

/** The result of an epoch that has no data. */
export function nothingTrained(epoch: number): PassResult {
  const meter = { samples: 0, batches: 0, seconds: 0, sums: {}, histograms: {} }
  const nothing = { samples: 0, seconds: 0, metrics: {}, breakdown: {}, readerSeconds: 0, lastBatch: -1 }
  return { ...nothing, ...beginningOf(epoch), interrupted: false, paused: false, meter, own: meter }
}

/** Parts of a step (see step-result.ts) under the words that people know. */
const PARTS = {
  read: ['load'],
  pull: ['lookup', 'gather'],
  compute: ['run'],
  push: ['merge', 'update', 'dense'],
} as const

/** runner.dataset_debug, where the time of a pass went: `read 4 % (2 % waiting for the reader), pull 20 %, ...`: of the time of all trainer threads and of waiting. */
export function debugText(
  phase: Phase,
  epoch: number,
  { breakdown, readerSeconds, samples, seconds }: PassResult,
): string {
  const spent = Object.entries(PARTS).map(([name, parts]) => {
    const own = parts.reduce((sum, part) => sum + (breakdown[part] ?? 0), 0)
    return [name, name === 'read' ? own + readerSeconds : own] as const
  })
  const total = spent.reduce((sum, [, part]) => sum + part, 0)
  const percent = (part: number) => `${(total > 0 ? (100 * part) / total : 0).toFixed(1)} %`
  const shares = spent.map(([name, part]) => `${name} ${percent(part)}`).join(', ')
  const rate = seconds > 0 ? Math.round(samples / seconds) : 0
  return `dataset_debug, ${phase} of epoch ${epoch}: ${shares}; waiting for the reader ${percent(readerSeconds)}; ${rate} instances/s`
}
