/** @file Training from the first line to the last, whether this process works alone, with servers or among ranks. */
import { performance } from 'node:perf_hooks'
import { explain, type LoadedConfig } from '../../base/config/index.ts'
import { processEnv } from '../../base/env/index.ts'
import { type EpochRecord, type EventSink, type Metrics, noteForLauncher } from '../../base/event/index.ts'
import { defined, removeLeftovers } from '../../base/util/index.ts'
import type { GraphMode } from '../../model/index.ts'
import type { Best } from '../../weights/snapshot/index.ts'
import {
  beginningOf,
  type EngineName,
  goOn,
  nothingTrained,
  type PassResult,
  type PassStart,
} from '../threads/index.ts'
import { alone } from './alone.ts'
import { type CutInterval, type CutSchedule, cutSchedule } from './cuts.ts'
import { type HangWatch, watchForHangs } from './hang-watch.ts'
import { History } from './history.ts'
import type { EpochSchedule, SavedInside, TrainingContext, TrainingJob, TrainingRules } from './job.ts'
import { goesOnByItself } from './own-job.ts'

export interface TrainOptions {
  readonly config: LoadedConfig
  readonly emit: EventSink
  /** Aborting finishes the steps under way, saves and ends training there. */
  readonly signal?: AbortSignal | undefined
  /** Goes on from the newest checkpoint in model_save_path, if there is one. @default false */
  readonly resume?: boolean | undefined
  /** Computes TrainResult.digest. */
  readonly digest?: boolean | undefined
  /** `null` computes nothing, to time input; `reference` is slow and exact. @default 'ort' */
  readonly engine?: EngineName | undefined
  /** Which graph of the model: one for all batches, or one a batch. @default 'static' */
  readonly mode?: GraphMode | undefined
  /** @default everything by the keys of `config` */
  readonly rules?: TrainingRules | undefined
}

export interface TrainResult {
  readonly samples: number
  readonly seconds: number
  /** Of the last epoch. */
  readonly metrics: Metrics
  readonly evaluation?: Metrics | undefined
  readonly interrupted: boolean
  /** Where the time went, summed over trainer threads, in seconds. */
  readonly breakdown: Readonly<Record<string, number>>
  /** SHA-256 over weights, optimizer state and rows. */
  readonly digest?: string | undefined
  /** What every epoch measured; which was the best on the test data. */
  readonly epochs?: readonly EpochRecord[] | undefined
  readonly best?: Best | undefined
}

/** Trains as the config says; saves after each epoch and evaluates on test_data_dir. Resolves when all processes are done. */
export async function train(
  options: TrainOptions,
  openJob: (context: TrainingContext) => TrainingJob = alone,
): Promise<TrainResult> {
  const started = performance.now()
  const hangs = watchForHangs({ emit: options.emit, waitingFor: () => job.waitingFor?.() ?? [] })
  const context = await contextOf(options, hangs.emit)
  const job = openJob(context)
  try {
    hangs.begin('start')
    // The model and its data: what is wrong with them is found before anything is compiled.
    await job.prepare()
    const { config, emit, rules } = context
    const settings = rules.settings ?? explain(config.config)
    const model = config.config.model ?? config.config.dir
    emit({ kind: 'start', command: 'train', model, settings, job: job.role })

    // The other processes of the job, and this one's part of the data.
    await job.join?.()

    // Weights: first ones, or those of a checkpoint. Then threads to train them.
    const start = await job.load()
    await job.open()
    emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })

    const history = new History(config, job, start.history)
    let result = await trainEpochs(job, start, history, hangs, context)

    hangs.begin(undefined)
    for (const event of history.end()) emit(event)
    result = { ...result, ...history.summary }
    if (options.digest) result = { ...result, digest: await job.digest() }
    const { interrupted: _, ...summary } = result
    emit({ kind: 'done', ...summary, samplesPerSecond: result.seconds > 0 ? result.samples / result.seconds : 0 })
    await job.finish?.()
    noteForLauncher(processEnv()['OARFISH_LOG_FILE'], result.interrupted ? 'stopped' : 'done')
    return result
  } catch (error) {
    await job.abort?.(error as Error)
    throw error
  } finally {
    hangs.close()
    await job.close()
  }
}

/** What every job is opened with; a job of a launcher that was started before goes on by itself. */
async function contextOf(options: TrainOptions, emit: EventSink): Promise<TrainingContext> {
  const { config: loaded, engine = 'ort', mode = 'static', rules = {} } = options
  const { config } = loaded
  for (const message of loaded.notices) emit({ kind: 'notice', message })
  removeLeftovers() // also of killed processes of a job that nobody launches again
  const isFurther = !options.resume && (await goesOnByItself(config))
  if (isFurther) {
    const message = `This job was started before: it goes on from what it has saved in ${config.runner.model_save_path}.`
    emit({ kind: 'notice', message })
  }
  const resume = options.resume === true || isFurther
  return { config: loaded, emit, stop: stopOf(options.signal), engine, mode, resume, rules }
}

/** All epochs from `start` on: train, save, evaluate, until they are trained, training is stopped, or no epoch gets better. */
async function trainEpochs(
  job: TrainingJob,
  start: PassStart,
  history: History,
  hangs: HangWatch,
  { config: { config }, emit, rules: { schedule } }: TrainingContext,
): Promise<TrainResult> {
  const notice = (message: string) => emit({ kind: 'notice', message })
  const { epochs } = schedule ?? config.runner
  const { epoch: first } = start.position
  if (first >= epochs) notice(`All ${epochs} epochs are trained already; raise runner.epochs to train on.`)
  const cuts = cutsOf(job, config.runner.snapshot_interval, notice)
  let result: TrainResult = { samples: 0, seconds: 0, metrics: {}, interrupted: false, breakdown: {} }

  // Killed between an epoch and its evaluation: the record misses it.
  if (!isInside(start) && history.lacks(first - 1)) {
    const { metrics: test, interrupted } = await job.pass('infer', first - 1)
    result = { ...result, evaluation: test, interrupted }
    if (!interrupted) await history.add({ epoch: first - 1, train: {}, test })
  }

  for (let epoch = first; epoch < epochs && !result.interrupted && !history.isOver; epoch++) {
    // Data that come in while the job runs are waited for, and judge the model before it trains on them.
    if (schedule) hangs.begin(undefined) // what is waited for comes when it comes
    const begun = schedule ? await beginEpoch(job, schedule, epoch) : 'train'
    if (begun === 'done') break
    if (begun === 'end') return { ...result, interrupted: true }
    if (begun === 'skip') {
      await job.save(epoch, nothingTrained(epoch))
      continue
    }

    // Every batch of the data: pull rows and weights, compute, push gradients; now and then a cut, to go on from if a process dies.
    const trained = await trainEpoch(job, epoch, epoch === first ? start : undefined, cuts, hangs, (part) => {
      result = added(result, part)
    })
    if (!trained.interrupted) await schedule?.onTrained?.(epoch, trained)

    // A checkpoint; stopped inside the epoch, one that --resume goes on from.
    hangs.begin('save')
    const saved: SavedInside = trained.interrupted
      ? await job.saveInterrupted(trained)
      : { path: await job.save(epoch, trained) }

    // The test data.
    hangs.begin('evaluation')
    if (!trained.interrupted && job.evaluates && !schedule) {
      const { metrics: evaluation, interrupted } = await job.pass('infer', epoch)
      result = { ...result, evaluation, interrupted }
      if (!interrupted) await history.add({ epoch, train: trained.metrics, test: evaluation })
    }

    if (result.interrupted) {
      const { lastBatch: batch, meter } = trained
      emit({ kind: 'interrupted', epoch, batch, samples: meter.samples, ...defined({ path: saved.path }) })
      if (saved.notice !== undefined) notice(saved.notice)
    }
  }
  return result
}

/** When cuts are due, where this job can make any. */
function cutsOf(job: TrainingJob, interval: CutInterval, notice: (message: string) => void): CutSchedule | undefined {
  const cuts = job.cuts && cutSchedule(interval, job.cuts)
  if (interval && !cuts)
    notice('runner.snapshot_interval has no effect here: this job is saved after each epoch alone.')
  if (cuts) noteForLauncher(processEnv()['OARFISH_LOG_FILE'], 'begun')
  return cuts
}

/** The batches of an epoch, in as many parts as cuts divide it into; a cut is made before the next part begins. Returns the last part. */
async function trainEpoch(
  job: TrainingJob,
  epoch: number,
  from: PassStart | undefined,
  cuts: CutSchedule | undefined,
  hangs: HangWatch,
  onPart: (part: PassResult) => void,
): Promise<PassResult> {
  cuts?.begin(from ?? beginningOf(epoch))
  hangs.begin('steps')
  let part = await job.pass('train', epoch, from, cuts?.pauses)
  onPart(part)
  while (cuts && part.paused && !part.interrupted) {
    if (cuts.isDue(part)) {
      hangs.begin('save')
      await job.cuts?.save(part)
    }
    hangs.begin('steps')
    part = await job.pass('train', epoch, goOn(part), cuts.pauses)
    onPart(part)
  }
  return part
}

/** Waits for an epoch's data and judges the model by them; the data of the next one are loaded from here on. */
async function beginEpoch(
  job: TrainingJob,
  schedule: EpochSchedule,
  epoch: number,
): ReturnType<EpochSchedule['begin']> {
  const begun = await schedule.begin(epoch, job.agree ?? ((work) => work()))
  if (begun !== 'train') return begun
  if (schedule.judges) {
    const judged = await job.pass('infer', epoch)
    if (judged.interrupted) return 'end'
    await schedule.onJudged?.(epoch, judged)
  }
  if (epoch + 1 < schedule.epochs && (await schedule.isReady(epoch + 1))) job.prefetch?.(epoch + 1)
  return begun
}

/** A process that goes on inside an epoch may not have trained a batch of it, where others have. */
const isInside = ({ position, before }: PassStart) => position.batch > 0 || before !== undefined

/** Aborted with the signal, and by whatever else ends a job in good order. */
export function stopOf(signal: AbortSignal | undefined): AbortController {
  const stop = new AbortController()
  signal?.addEventListener('abort', () => stop.abort(signal.reason), { once: true })
  if (signal?.aborted) stop.abort(signal.reason)
  return stop
}

function added(sum: TrainResult, { samples, seconds, metrics, interrupted, breakdown }: PassResult): TrainResult {
  const parts = new Set([...Object.keys(sum.breakdown), ...Object.keys(breakdown)])
  const spent = [...parts].map((part) => [part, (sum.breakdown[part] ?? 0) + (breakdown[part] ?? 0)])
  return {
    ...sum,
    samples: sum.samples + samples,
    seconds: sum.seconds + seconds,
    metrics,
    interrupted,
    breakdown: Object.fromEntries(spent),
  }
}
