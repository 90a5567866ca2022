/** @file Looks at how training goes and says once when it goes wrong, with the likely cause and the key to change. Knows numbers only. */
import type { JobConfig } from '../../base/config/index.ts'
import { AUC_THRESHOLDS, type AucHistogram, aucOf, differenceAuc } from '../../weights/metric/index.ts'
import type { MeterState } from '../../weights/snapshot/index.ts'
import type { TrainerThreadSettings } from './messages.ts'

/** Samples between two looks: fewer say little. */
const WINDOW_SAMPLES = 10_000
/** Of either label in a window. */
const LEAST_OF_A_LABEL = 200
/** Log loss beside that of always saying the mean: so many times the best so far, or the mean's own, is no accident. */
const [WORSE, WORSE_THAN_THE_MEAN] = [1.15, 1.1]
/** Clicks over predicted clicks. Rates below the last are too close to the width of a bucket to be judged. */
const [LEAST_COPC, MOST_COPC, LEAST_RATE] = [0.75, 1.33, 0.01]
/** Root mean square of the values of rows, and beside the first that was seen: those that train well stay around 0.1 to 1. */
const [MOST_ROW_RMS, ROW_GROWTH] = [5, 20]
/** How far a worker's dense weights may be from those of all, of their own length, for each worker: 0.03 is usual. */
const MOST_DRIFT = 0.2
/** What is wrong must be so in this many looks, one after the other. */
const IN_A_ROW = 2

const KINDS = ['loss', 'copc', 'rows', 'drift'] as const
type Kind = (typeof KINDS)[number]

export interface TrainingWatchOptions {
  readonly config: Pick<JobConfig, 'runner'>
  /** Where the weights are: each place has keys of its own. */
  readonly weights: TrainerThreadSettings['params']['kind']
  readonly warn: (message: string) => void
}

/** What the samples of a window say. */
interface WindowNumbers {
  readonly samples: number
  readonly clicks: number
  /** Clicks that were predicted. */
  readonly predicted: number
  readonly logLoss: number
  readonly auc: number
}

export class TrainingWatch {
  readonly #options: TrainingWatchOptions
  readonly #warned = new Set<Kind>()
  readonly #inARow = new Map<string, number>()
  /** By metric: the least log loss of a window beside that of the mean, and what it was. */
  readonly #best = new Map<string, { readonly relative: number; readonly logLoss: number }>()
  /** By metric: windows so far. */
  readonly #windows = new Map<string, number>()
  /** Where the window under way began. */
  #before: Pick<MeterState, 'samples' | 'histograms'> = { samples: 0, histograms: {} }
  #firstRms: number | undefined

  constructor(options: TrainingWatchOptions) {
    this.#options = options
  }

  /** A pass begins, with what was measured of it before. */
  begin({ samples, histograms }: Pick<MeterState, 'samples' | 'histograms'> = { samples: 0, histograms: {} }): void {
    this.#before = { samples, histograms }
  }

  /** What has been measured of the pass so far. */
  look(state: Pick<MeterState, 'samples' | 'histograms'>): void {
    if (state.samples - this.#before.samples < WINDOW_SAMPLES) return
    for (const [name, histogram] of Object.entries(state.histograms)) {
      const numbers = numbersOf(differenceAuc(histogram, this.#before.histograms[name]))
      const { samples, clicks } = numbers
      if (Math.min(clicks, samples - clicks) >= LEAST_OF_A_LABEL) this.#judge(name, numbers)
    }
    this.#before = { samples: state.samples, histograms: state.histograms }
  }

  /** The root mean square of the values of a batch's rows. */
  rows(rms: number): void {
    this.#firstRms ??= rms
    const isWrong = rms > Math.max(MOST_ROW_RMS, ROW_GROWTH * this.#firstRms)
    if (this.#again('rows', isWrong))
      this.#warn(
        'rows',
        `Rows of tables grow out of bounds: their values are around ${short(rms)}, of ${short(this.#firstRms)} at first.`,
      )
  }

  /** Geo: how far the dense weights of this worker were from those of all, before it took them over; 1 is as far as they are long. */
  drift(distance: number, workers: number): void {
    if (this.#again('drift', distance > MOST_DRIFT * workers))
      this.#warn(
        'drift',
        `The workers drift apart: between two exchanges the dense weights of this one went ${short(distance)} times their own length away from those of all.`,
      )
  }

  #judge(name: string, numbers: WindowNumbers): void {
    const { samples, clicks, predicted, logLoss, auc } = numbers
    const window = (this.#windows.get(name) ?? 0) + 1
    this.#windows.set(name, window)
    const rate = clicks / samples
    const relative = logLoss / entropy(rate)
    const best = this.#best.get(name)
    if (!best || relative < best.relative) this.#best.set(name, { relative, logLoss })
    // The first window is that of weights which know nothing yet.
    const isRising = best !== undefined && relative > WORSE * best.relative
    const isWorse = isRising || (best !== undefined && relative > WORSE_THAN_THE_MEAN)
    if (this.#again(`loss ${name}`, isWorse)) {
      const what = isRising ? `rises, from ${short(best!.logLoss)} at its best` : 'is too large'
      this.#warn(
        'loss',
        `Log loss (${name}) ${what}: it is ${short(logLoss)} over the last ${samples} samples, where one who says the mean has ${short(entropy(rate))}; AUC is ${short(auc)}.`,
      )
    }
    const copc = clicks / predicted
    const isOff = window > 1 && predicted / samples > LEAST_RATE && (copc < LEAST_COPC || copc > MOST_COPC)
    if (this.#again(`copc ${name}`, isOff))
      this.#warn(
        'copc',
        `Predictions (${name}) are off: of ${samples} samples ${clicks} were clicks, ${Math.round(predicted)} were predicted (COPC ${short(copc)}).`,
      )
  }

  #again(what: string, isWrong: boolean): boolean {
    const count = isWrong ? (this.#inARow.get(what) ?? 0) + 1 : 0
    this.#inARow.set(what, count)
    return count >= IN_A_ROW
  }

  #warn(kind: Kind, what: string): void {
    if (this.#warned.has(kind)) return
    this.#warned.add(kind)
    const off = 'runner.training_warnings: False turns such warnings off.'
    this.#options.warn(`${what} ${adviceFor(kind, this.#options)} ${off}`)
  }
}

/** The likely cause, and what to change. */
function adviceFor(kind: Kind, { config, weights }: TrainingWatchOptions): string {
  const keys = KEYS[weights](config.runner).join(', or ')
  const also = keys ? `, or ${keys}` : ''
  if (kind === 'copc')
    return `Either the data is no longer what the model has learned, or the steps are too large, or far too small: change hyper_parameters.optimizer.learning_rate${also}.`
  return `Most often the steps are too large: lower hyper_parameters.optimizer.learning_rate${also}.`
}

const WAIT = 'let workers wait for each other: runner.max_staleness'

type Keys = (runner: JobConfig['runner']) => readonly string[]

const KEYS: { readonly [K in TrainingWatchOptions['weights']]: Keys } = {
  local: ({ thread_num, thread_mode }) =>
    thread_num > 1 && thread_mode === 'async' ? ['set runner.thread_mode: sync'] : [],
  remote: ({ sync_mode, scale_lr }) => (sync_mode === 'sync' ? unscaled(scale_lr) : [WAIT]),
  geo: ({ geo_delta, geo_dense_step }) =>
    geo_delta === 'share' ? [`exchange more often: runner.geo_dense_step below ${geo_dense_step}`] : [WAIT],
  hybrid: () => [WAIT],
  parallel: ({ scale_lr }) => unscaled(scale_lr),
  pass: () => [],
}

const unscaled = (scale: JobConfig['runner']['scale_lr']) => (scale === 'none' ? [] : ['set runner.scale_lr: none'])

function numbersOf(counts: AucHistogram): WindowNumbers {
  const buckets = counts.length / 2
  let [clicks, shows, predicted, loss] = [0, 0, 0, 0]
  for (let i = 0; i < buckets; i++) {
    const [positives, negatives] = [counts[i]!, counts[buckets + i]!]
    if (positives + negatives === 0) continue
    const score = Math.min(i + 0.5, AUC_THRESHOLDS - 0.5) / AUC_THRESHOLDS
    clicks += positives
    shows += positives + negatives
    predicted += score * (positives + negatives)
    loss -= positives * Math.log(score) + negatives * Math.log(1 - score)
  }
  return { samples: shows, clicks, predicted, logLoss: loss / shows, auc: aucOf(counts) }
}

/** Log loss of one who says the mean of all samples. */
function entropy(rate: number): number {
  return -(rate * Math.log(rate) + (1 - rate) * Math.log(1 - rate))
}

const short = (value: number) => Number(value.toPrecision(3))
