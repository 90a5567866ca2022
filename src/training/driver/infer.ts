/** @file Evaluation of saved models from the first line to the last: each is loaded and run over test_data_dir. */
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { configErrorAt, explain, type JobConfig, type LoadedConfig } from '../../base/config/index.ts'
import type { EventSink, Metrics } from '../../base/event/index.ts'
import { shown } from '../../base/util/index.ts'
import type { GraphMode } from '../../model/index.ts'
import { isPaddleFolder } from '../../weights/params/index.ts'
import { missing, openSnapshot, savedEpochs } from '../../weights/snapshot/index.ts'
import type { EngineName } from '../threads/index.ts'
import { evaluateAlone } from './alone.ts'
import type { EvaluationJob, JobContext, SavedModel } from './job.ts'
import { stopOf } from './train.ts'

export interface InferOptions {
  readonly config: LoadedConfig
  readonly emit: EventSink
  /** Aborting finishes the steps under way and ends there. */
  readonly signal?: AbortSignal | undefined
  /** @default 'ort' */
  readonly engine?: EngineName | undefined
  /** Which graph of the model: one for all batches, or one a batch. @default 'static' */
  readonly mode?: GraphMode | undefined
  /** What to evaluate. @default the saved epochs from infer_start_epoch up to infer_end_epoch */
  readonly models?: FindModels | undefined
}

/** Finds what to evaluate. */
export type FindModels = (config: LoadedConfig, emit: EventSink) => Promise<readonly SavedModel[]>

export interface InferResult {
  /** Metrics of each epoch, in order. */
  readonly epochs: readonly { readonly epoch: number; readonly metrics: Metrics }[]
  readonly samples: number
  readonly seconds: number
  readonly interrupted: boolean
}

/** Evaluates the saved epochs from infer_start_epoch up to, not including, infer_end_epoch. Resolves when all processes are done. */
export async function infer(
  options: InferOptions,
  openJob: (context: JobContext) => EvaluationJob = evaluateAlone,
): Promise<InferResult> {
  const started = performance.now()
  const { config: loaded, emit, engine = 'ort', mode = 'static', models = savedModels } = options
  const { config } = loaded
  for (const message of loaded.notices) emit({ kind: 'notice', message })
  if (config.runner.test_data_dir === undefined)
    throw configErrorAt(loaded, 'runner.test_data_dir', 'missing; this is the folder whose data is evaluated')
  const job = openJob({ config: loaded, emit, stop: stopOf(options.signal), engine, mode })
  try {
    // The model and its data: what is wrong with them is found before anything is compiled.
    await job.prepare()
    emit({ kind: 'start', command: 'infer', model: config.dir, settings: inferSettings(config), job: job.role })

    // The other processes of the job, this one's part of the data, and what all of them evaluate.
    await job.join?.()
    const found = await job.choose(() => models(loaded, emit))

    let result: InferResult = { epochs: [], samples: 0, seconds: 0, interrupted: false }
    for (const [i, saved] of found.entries()) {
      if (result.interrupted || job.isStopped()) break
      const { epoch } = saved
      await job.load(saved)
      if (i === 0) emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
      const { metrics, samples, seconds, interrupted } = await job.pass('infer', epoch)
      result = {
        epochs: [...result.epochs, { epoch, metrics }],
        samples: result.samples + samples,
        seconds: result.seconds + seconds,
        interrupted,
      }
    }

    const { samples, seconds } = result
    const metrics = result.epochs.at(-1)?.metrics ?? {}
    emit({ kind: 'done', samples, seconds, samplesPerSecond: seconds > 0 ? samples / seconds : 0, metrics })
    await job.finish?.()
    return result
  } catch (error) {
    await job.abort?.(error as Error)
    throw error
  } finally {
    await job.close()
  }
}

/** The saved epochs in the range asked for; those that are missing are named. */
async function savedModels({ config }: LoadedConfig, emit: EventSink): Promise<readonly SavedModel[]> {
  const { infer_load_path: path, infer_start_epoch: from, infer_end_epoch: to } = config.runner
  const saved = await savedEpochs(path)
  const found = saved.filter((epoch) => epoch >= from && epoch < to)
  if (found.length === 0) throw missing(join(path, String(from)), 'runner.infer_load_path', saved)
  if (found.length < to - from) {
    const message = `runner.infer_start_epoch ${from} to infer_end_epoch ${to}: ${shown(path)} holds ${found.join(', ')} of these.`
    emit({ kind: 'notice', message })
  }
  return found.map((epoch) => ({ epoch, folder: join(path, String(epoch)), key: 'runner.infer_load_path' }))
}

/** What static_ps_offline_infer evaluates: `init_model_path` over `data_dir`. Its configuration, and how its model is found. */
export function offlineInfer(loaded: LoadedConfig): { readonly config: LoadedConfig; readonly models: FindModels } {
  const { runner } = loaded.config
  const { init_model_path, data_dir = runner.test_data_dir, batch_size = runner.infer_batch_size } = runner
  if (init_model_path === undefined)
    throw configErrorAt(loaded, 'runner.init_model_path', 'missing; it is the saved model that is evaluated')
  if (data_dir === undefined)
    throw configErrorAt(loaded, 'runner.data_dir', 'missing; it is the folder of the data that is evaluated')
  const own = { ...runner, test_data_dir: data_dir, infer_batch_size: batch_size, infer_load_path: init_model_path }
  const key = 'runner.init_model_path'
  return {
    config: { ...loaded, config: { ...loaded.config, runner: own } },
    models: async () => {
      if (await isPaddleFolder(init_model_path)) return [{ epoch: 0, folder: init_model_path, key }]
      const { manifest } = await openSnapshot(init_model_path, key)
      return [{ epoch: Math.max(0, manifest.position.epoch - 1), folder: init_model_path, key }]
    },
  }
}

/** What PaddleRec's infer prints first is part of it, whether at its default or not. The number of epochs trained is not. */
function inferSettings(config: JobConfig): Readonly<Record<string, unknown>> {
  const { 'runner.epochs': _, ...settings } = explain(config)
  const { runner } = config
  return {
    ...settings,
    'runner.infer_batch_size': runner.infer_batch_size,
    'runner.test_data_dir': runner.test_data_dir,
    'runner.infer_start_epoch': runner.infer_start_epoch,
    'runner.infer_end_epoch': runner.infer_end_epoch,
    'runner.infer_load_path': runner.infer_load_path,
  }
}
