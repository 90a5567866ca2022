/** @file Training from the first line to the last, whether this process works alone, with servers or among ranks. */
import { performance } from 'node:perf_hooks'
import { explain, type LoadedConfig } from '../../base/config/index.ts'
import type { EpochRecord, EventSink, Metrics } from '../../base/event/index.ts'
import { defined } from '../../base/util/index.ts'
import type { GraphMode } from '../../model/index.ts'
import type { Best } from '../../weights/snapshot/index.ts'
import { beginningOf, type EngineName, goOn, type PassResult, type PassStart } from '../threads/index.ts'
import { alone } from './alone.ts'
import { cutSchedule } from './cuts.ts'
import { History } from './history.ts'
import type { SavedInside, TrainingContext, TrainingJob, TrainingRules } from './job.ts'

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
  const { config: loaded, emit, engine = 'ort', mode = 'static', resume = false, rules = {} } = options
  const { config } = loaded
  const { epochs } = config.runner
  const notice = (message: string) => emit({ kind: 'notice', message })
  for (const message of loaded.notices) notice(message)
  const job = openJob({ config: loaded, emit, stop: stopOf(options.signal), engine, mode, resume, rules })
  try {
    // The model and its data: what is wrong with them is found before anything is compiled.
    await job.prepare()
    const settings = rules.settings ?? explain(config)
    emit({ kind: 'start', command: 'train', model: config.model ?? config.dir, settings, job: job.role })

    // The other processes of the job, and this one's part of the data.
    await job.join?.()

    // Weights: first ones, or those of a checkpoint. Then threads to train them.
    const start = await job.load()
    await job.open()
    emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })

    const { epoch: first } = start.position
    if (first >= epochs) notice(`All ${epochs} epochs are trained already; raise runner.epochs to train on.`)
    let result: TrainResult = { samples: 0, seconds: 0, metrics: {}, interrupted: false, breakdown: {} }
    const history = new History(loaded, job, start.history)
    const { snapshot_interval } = config.runner
    const cuts = job.cuts && cutSchedule(snapshot_interval, job.cuts)
    if (snapshot_interval !== undefined && !cuts)
      notice('runner.snapshot_interval has no effect here: this job is saved after each epoch alone.')
    // Killed between an epoch and its evaluation: the record misses it.
    if (!isInside(start) && history.lacks(first - 1)) {
      const { metrics: test, interrupted } = await job.pass('infer', first - 1)
      result = { ...result, evaluation: test, interrupted }
      if (!interrupted) await history.add({ epoch: first - 1, train: {}, test })
    }
    for (let epoch = first; epoch < epochs && !result.interrupted && !history.isOver; epoch++) {
      // Every batch of the data: pull rows and weights, compute, push gradients; now and then a cut, to go on from if a process dies.
      const from = epoch === first ? start : undefined
      cuts?.begin(from ?? beginningOf(epoch))
      let trained = await job.pass('train', epoch, from, cuts?.pauses)
      while (cuts && trained.paused && !trained.interrupted) {
        result = added(result, trained)
        if (cuts.isDue(trained)) await job.cuts?.save(trained)
        trained = await job.pass('train', epoch, goOn(trained), cuts.pauses)
      }
      result = added(result, trained)

      // A checkpoint; stopped inside the epoch, one that --resume goes on from.
      const saved: SavedInside = trained.interrupted
        ? await job.saveInterrupted(trained)
        : { path: await job.save(epoch, trained) }

      // The test data.
      if (!trained.interrupted && job.evaluates) {
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

    for (const event of history.end()) emit(event)
    result = { ...result, ...history.summary }
    if (options.digest) result = { ...result, digest: await job.digest() }
    const { interrupted: _, ...summary } = result
    emit({ kind: 'done', ...summary, samplesPerSecond: result.seconds > 0 ? result.samples / result.seconds : 0 })
    await job.finish?.()
    return result
  } catch (error) {
    await job.abort?.(error as Error)
    throw error
  } finally {
    await job.close()
  }
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
