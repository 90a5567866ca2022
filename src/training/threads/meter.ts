/** @file Running metrics of one phase of an epoch: losses and AUC over all threads, rates between two reports; added up over processes. */
import { performance } from 'node:perf_hooks'
import type { EventOf, Metrics } from '../../base/event/index.ts'
import {
  type AucHistogram,
  addAuc,
  aucOf,
  calibrationOf,
  differenceAuc,
  emptyAuc,
  GroupedAuc,
  type MetricSpec,
  mergedGroups,
  onlyLabel,
  type ReportParts,
  type ReportValues,
  reportText,
  reportValues,
  sumsAsMetrics,
} from '../../weights/metric/index.ts'
import type { LinkCount } from '../../weights/params/index.ts'
import type { MeterState } from '../../weights/snapshot/index.ts'
import type { Groups, Phase } from './messages.ts'
import type { StepReport } from './trainer-pool.ts'
import { Travels } from './travels.ts'

type Histograms = Readonly<Record<string, AucHistogram>>
type Seconds = Readonly<Record<string, number>>

const NOTHING: MeterState = { samples: 0, batches: 0, seconds: 0, sums: {}, histograms: {} }

export class Meter {
  samples: number
  /** Highest batch index seen. */
  lastBatch: number
  readonly #phase: Phase
  readonly #epoch: number
  readonly #started = performance.now()
  readonly #before: MeterState
  readonly #sums: Record<string, number>
  readonly #histograms = new Map<number, Histograms>()
  /** Where the time of each thread went, as of its last report, and as of the last event. */
  readonly #spent = new Map<number, Seconds>()
  #spentBefore: Seconds = {}
  readonly #travels = new Travels()
  #reported: { at: number; samples: number; batches: number; readerSeconds: number; histograms: Histograms }
  #batches: number
  /** Slices that have come, of batches that are not whole yet. */
  readonly #slices = new Map<number, number>()
  /** Time the loop spent waiting for the reader, added by the loop. */
  readerSeconds = 0

  /** `before` is what an earlier run measured of this epoch. */
  constructor(phase: Phase, epoch: number, before: MeterState = NOTHING) {
    this.#phase = phase
    this.#epoch = epoch
    this.#before = before
    this.samples = before.samples
    this.lastBatch = before.batches - 1
    this.#sums = { ...before.sums }
    this.#batches = before.batches
    const { samples, histograms } = before
    this.#reported = { at: this.#started, samples, batches: this.#batches, readerSeconds: 0, histograms }
  }

  /** Of this run and, where it goes on from inside an epoch, of the one before. */
  get seconds(): number {
    return this.#before.seconds + (performance.now() - this.#started) / 1000
  }

  /** True when the batch is whole: always, unless it came in slices of which some are still to come. */
  add({ size, index, slices = 1, result, histograms, seconds, links, stale, thread }: StepReport): boolean {
    this.samples += size
    const come = (this.#slices.get(index) ?? 0) + 1
    const whole = come === slices
    if (whole) this.#batches++
    if (whole) this.#slices.delete(index)
    else this.#slices.set(index, come)
    this.lastBatch = Math.max(this.lastBatch, index)
    for (const [name, value] of Object.entries({ loss: result.loss, ...result.means })) {
      this.#sums[name] = (this.#sums[name] ?? 0) + value * size
    }
    if (histograms) this.#histograms.set(thread, histograms)
    if (seconds) this.#spent.set(thread, seconds)
    this.#travels.add(thread, { result, links, stale })
    return whole
  }

  /** What this process has sent and got beside its threads. */
  travelled(links: readonly LinkCount[]): void {
    this.#travels.addOwn(links)
  }

  /** Samples and histograms as of the last event. */
  get reported(): Pick<MeterState, 'samples'> & { readonly histograms: Readonly<Record<string, Float64Array>> } {
    const { samples, histograms } = this.#reported
    return { samples, histograms: histograms as Readonly<Record<string, Float64Array>> }
  }

  /** All that must be kept to go on from here. */
  state(histograms: Iterable<Histograms>, groups: readonly Groups[] = []): MeterState {
    const { samples, seconds } = this
    const counted = {
      histograms: this.#total(histograms),
      groups: mergedGroups([this.#before.groups ?? {}, ...groups]),
    }
    return { samples, seconds, batches: this.#batches, sums: this.#sums, ...counted }
  }

  #total(groups: Iterable<Histograms>): Record<string, Float64Array> {
    const sums: Record<string, Float64Array> = {}
    for (const group of [this.#before.histograms, ...groups]) {
      for (const [name, histogram] of Object.entries(group)) {
        sums[name] ??= emptyAuc()
        addAuc(sums[name], histogram)
      }
    }
    return sums
  }

  /** The newest step of which it is known that it was applied; 0: none. */
  get step(): number {
    return this.#travels.step
  }

  batchEvent({ index, fraction }: StepReport, specs: readonly MetricSpec[] = []): EventOf<'batch'> {
    const { at, samples, batches, readerSeconds, histograms: before } = this.#reported
    const now = performance.now()
    const [seconds, steps] = [(now - at) / 1000, this.#batches - batches]
    const { groups: _, ...state } = this.state(this.#histograms.values())
    const { histograms } = state
    this.#reported = {
      at: now,
      samples: this.samples,
      batches: this.#batches,
      readerSeconds: this.readerSeconds,
      histograms,
    }
    return {
      kind: 'batch',
      phase: this.#phase,
      epoch: this.#epoch,
      batch: index,
      samples: this.samples,
      fraction,
      metrics: metricsOf(state),
      ...reportFields(specs, state),
      ...shownFields(specs, state, before),
      readerSecondsPerBatch: (this.readerSeconds - readerSeconds) / steps,
      secondsPerBatch: seconds / steps,
      samplesPerBatch: (this.samples - samples) / steps,
      samplesPerSecond: (this.samples - samples) / seconds,
      ...this.#breakdown(steps),
      ...this.#travels.fields(seconds),
    }
  }

  /** The field `breakdown`: what the threads have spent since the last event. */
  #breakdown(steps: number): Pick<EventOf<'batch'>, 'breakdown'> {
    const sum: Record<string, number> = {}
    for (const own of this.#spent.values())
      for (const [part, seconds] of Object.entries(own)) sum[part] = (sum[part] ?? 0) + seconds
    const before = this.#spentBefore
    this.#spentBefore = sum
    const parts = Object.entries(sum).map(
      ([part, all]) => [part, Math.max(0, all - (before[part] ?? 0)) / steps] as const,
    )
    return parts.length > 0 ? { breakdown: Object.fromEntries(parts) } : {}
  }
}

/** Means by sample, ratios of sums, the areas under the histograms and their mean over groups. */
export function metricsOf({ samples, sums, histograms, groups = {} }: MeterState): Metrics {
  const areas = Object.entries(histograms).map(([name, sum]) => [name, aucOf(sum)] as const)
  const means = mergedOf(groups).flatMap(([name, own]) => (own.each ? [] : [[name, own.mean()] as const]))
  return Object.fromEntries([...sumsAsMetrics(sums, samples), ...areas, ...means])
}

const mergedOf = (groups: Groups) =>
  Object.entries(groups).map(([name, state]) => [name, GroupedAuc.merged([state])] as const)

/** Values of a slot that are shown at most, those with most samples first. */
const MOST_SLICES = 50

/** The field `slices`: areas by the value of a slot. */
export function sliceFields({ groups = {} }: MeterState): Pick<EventOf<'epoch'>, 'slices'> {
  const each = mergedOf(groups).filter(([, own]) => own.each)
  if (each.length === 0) return {}
  const slices = each.map(([name, own]) => {
    const values = own.groups().slice(0, MOST_SLICES)
    const weighted = own.isWeighted ? ({ weighted: true } as const) : {}
    return [
      name,
      values.map(({ key, positives, negatives, auc }) => {
        return { value: String(key), samples: positives + negatives, auc, ...weighted }
      }),
    ] as const
  })
  return { slices: Object.fromEntries(slices) }
}

/** The field `calibration`: what was predicted and what happened, by AUC. */
export function calibrationFields({ histograms }: MeterState): Pick<EventOf<'epoch'>, 'calibration'> {
  const found = Object.entries(histograms).map(([name, counts]) => [name, calibrationOf(counts)] as const)
  return found.length > 0 ? { calibration: Object.fromEntries(found) } : {}
}

/** Below so many samples one class alone is no surprise. */
const FEW = 100

/** What a user should know of groups that did not all fit, and of areas over one class alone. */
export function meterNotices({ groups = {}, histograms }: MeterState): string[] {
  const fewer = mergedOf(groups).flatMap(([name, { oneIn }]) =>
    oneIn > 1 ? [`${name} is measured over one in ${oneIn} groups, chosen by hash: all of them take more memory.`] : [],
  )
  const flat = Object.entries(histograms).flatMap(([name, counts]) => {
    const label = onlyLabel(counts)
    return label === undefined || counts.reduce((sum, n) => sum + n, 0) < FEW
      ? []
      : [`${name} is 0.5, for all its labels are ${label}: it has nothing to tell apart.`]
  })
  return [...fewer, ...flat]
}

/** A meter as JSON; histograms and groups as plain lists. */
export type PlainMeter = Omit<MeterState, 'histograms' | 'groups'> & {
  readonly histograms: Readonly<Record<string, number[]>>
  readonly groups: Readonly<Record<string, number[]>>
}

export function plainMeter({ histograms, groups = {}, ...rest }: MeterState): PlainMeter {
  const lists = (arrays: Readonly<Record<string, Float64Array>>) =>
    Object.fromEntries(Object.entries(arrays).map(([name, counts]) => [name, [...counts]]))
  return { ...rest, histograms: lists(histograms), groups: lists(groups) }
}

/** Samples, sums, histograms and groups of all; the time of the slowest. */
export function mergeMeters(meters: readonly PlainMeter[]): MeterState {
  const groups = meters.map((meter) =>
    Object.fromEntries(Object.entries(meter.groups).map(([name, state]) => [name, Float64Array.from(state)])),
  )
  const sums: Record<string, number> = {}
  const histograms: Record<string, Float64Array> = {}
  for (const meter of meters) {
    for (const [name, sum] of Object.entries(meter.sums)) sums[name] = (sums[name] ?? 0) + sum
    for (const [name, counts] of Object.entries(meter.histograms)) {
      histograms[name] ??= emptyAuc()
      addAuc(histograms[name], Float64Array.from(counts))
    }
  }
  return {
    samples: meters.reduce((sum, { samples }) => sum + samples, 0),
    batches: meters.reduce((sum, { batches }) => sum + batches, 0),
    seconds: Math.max(...meters.map(({ seconds }) => seconds)),
    sums,
    histograms,
    groups: mergedGroups(groups),
  }
}

/** The field `reports`: what reports have to say, by name. */
export function reportFields(specs: readonly MetricSpec[], state: MeterState) {
  const found = reportsOf(specs, state)
  if (found.length === 0) return {}
  return { reports: Object.fromEntries(found.map(({ name, spec, parts }) => [name, reportText(spec, parts)])) }
}

/** The field `shown`: parts of reports, and areas over the batches since `before`, by PaddleRec 1.x's names. */
function shownFields(specs: readonly MetricSpec[], state: MeterState, before: Histograms) {
  const recent = (key: string) => {
    const histogram = state.histograms[key]
    return histogram && differenceAuc(histogram, before[key])
  }
  const areas = specs
    .filter(({ kind, report }) => kind === 'auc' && !report)
    .map(({ name }) => [`BATCH_${name.replace(/^auc/i, 'AUC')}`, [aucOf(recent(name) ?? emptyAuc())]] as const)
  const values = reportsOf(specs, state).flatMap(({ spec, parts, keys }) =>
    Object.entries(
      reportValues(
        spec,
        parts,
        keys.map(recent).find((found) => found !== undefined),
      ),
    ),
  )
  const shown: ReportValues = Object.fromEntries([...areas, ...values])
  return Object.keys(shown).length > 0 ? { shown } : {}
}

/** Each report with its parts over all samples; `keys` are their names as metrics. */
function reportsOf(specs: readonly MetricSpec[], { samples, sums, histograms }: MeterState) {
  const all = specs.flatMap(({ report }) => (report ? [report] : []))
  return [...new Set(all.map(({ name }) => name))].map((name) => {
    const own = all.filter((part) => part.name === name)
    const fetched = own.map(({ part }) => [part, `${name}.${part}`] as const)
    const means = fetched.flatMap(([part, key]) => (key in sums ? [[part, sums[key]! / Math.max(1, samples)]] : []))
    const keys = fetched.map(([, key]) => key)
    const histogram = keys.map((key) => histograms[key]).find((found) => found !== undefined)
    const parts: ReportParts = { samples, means: Object.fromEntries(means), histogram }
    return { name, spec: own[0]!.spec, parts, keys }
  })
}
