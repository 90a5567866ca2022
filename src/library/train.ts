/** @file train() and evaluate(): what a program calls instead of `oarfish train` and `oarfish infer`. */
import { checkDataDirs, type LoadedConfig } from '../base/config/index.ts'
import { clusterFromEnv, type Env, processEnv } from '../base/env/index.ts'
import type { EventSink, Metrics } from '../base/event/index.ts'
import { type ConfigOptions, configOf } from './config.ts'
import type { WatchOptions } from './event-feed.ts'
import { evaluateAsAsked, trainAsAsked } from './part.ts'
import { type Run, startRun } from './run.ts'

/** How a graph is computed. */
export interface ComputeOptions {
  /** `ort` is onnxruntime; `reference` is slow and exact; `null` computes nothing, to time input. @default 'ort' */
  readonly engine?: 'ort' | 'reference' | 'null' | undefined
  /** Whether the model's graph is traced once (`static`) or step by step (`dygraph`). @default 'static' */
  readonly mode?: 'static' | 'dygraph' | undefined
}

/** Options of train. */
export interface TrainOptions extends ConfigOptions, ComputeOptions, WatchOptions {
  /** Goes on from the newest checkpoint in runner.model_save_path, if there is one. @default false */
  readonly resume?: boolean | undefined
  /** Also computes TrainResult.digest. @default false */
  readonly digest?: boolean | undefined
}

/** What came of training. */
export interface TrainResult {
  readonly samples: number
  /** Of training, without start-up and evaluation. */
  readonly seconds: number
  /** Over the last epoch. */
  readonly metrics: Metrics
  /** On runner.test_data_dir after the last epoch; undefined where there is none. */
  readonly evaluation?: Metrics | undefined
  /** The newest checkpoint that was saved; undefined where runner.model_save_path is empty. */
  readonly checkpoint?: string | undefined
  /** It was asked to stop, and did before its last epoch was over. */
  readonly interrupted: boolean
  /** Where the time went, summed over trainer threads, in seconds. */
  readonly breakdown: Readonly<Record<string, number>>
  /** SHA-256 over weights, optimizer state and rows: equal for equal runs of one thread. */
  readonly digest?: string | undefined
}

/**
 * Trains as a config says; saves after each epoch and evaluates on runner.test_data_dir. In a process of a launched job it takes that
 * process's part: worker, rank, or a server, which returns when the workers are done.
 *
 * @example
 * const { metrics, evaluation } = await train({ config: 'config.yaml', set: { runner: { epochs: 2 } } })
 */
export function train(options: TrainOptions): Run<TrainResult> {
  return startRun(options, async ({ emit, signal }) => {
    const { engine, mode, resume, digest } = options
    const env = await jobEnv()
    const config = checkedConfig(options, env)
    const seen: { checkpoint?: string } = {}
    const watch: EventSink = (event) => {
      if (event.kind === 'saved') seen.checkpoint = event.path
      emit(event)
    }
    const asked = { config, emit: watch, signal, engine, mode, resume, digest }
    const nothing = { samples: 0, seconds: 0, metrics: {}, breakdown: {}, interrupted: signal.aborted }
    return { ...((await trainAsAsked(asked, env)) ?? nothing), checkpoint: seen.checkpoint }
  })
}

/** Options of evaluate. */
export interface EvaluateOptions extends ConfigOptions, ComputeOptions, WatchOptions {
  /** Which saved epoch. @default those from runner.infer_start_epoch up to, not including, runner.infer_end_epoch */
  readonly epoch?: number | undefined
}

/** What evaluate found. */
export interface EvaluateResult {
  /** Of each epoch, in order. */
  readonly epochs: readonly { readonly epoch: number; readonly metrics: Metrics }[]
  /** Of the last of them. */
  readonly metrics: Metrics
  readonly samples: number
  readonly seconds: number
  readonly interrupted: boolean
}

/**
 * Evaluates saved epochs on runner.test_data_dir. In a process of a launched job it takes that process's part, as train() does.
 *
 * @example
 * const { metrics } = await evaluate({ config: 'config.yaml', epoch: 1 })
 */
export function evaluate(options: EvaluateOptions): Run<EvaluateResult> {
  return startRun(options, async ({ emit, signal }) => {
    const { engine, mode, epoch } = options
    const env = await jobEnv()
    const config = checkedConfig(options, env, ['test_data_dir'])
    const chosen = epoch === undefined ? config : withEpoch(config, epoch)
    const nothing = { samples: 0, seconds: 0, epochs: [], interrupted: signal.aborted }
    const result = (await evaluateAsAsked({ config: chosen, emit, signal, engine, mode }, env)) ?? nothing
    return { ...result, metrics: result.epochs.at(-1)?.metrics ?? {} }
  })
}

/** The data of a job with servers is looked for by the workers that read it. */
function checkedConfig(options: ConfigOptions, env: Env, dirs?: Parameters<typeof checkDataDirs>[1]): LoadedConfig {
  const config = configOf(options)
  if (clusterFromEnv(env).role === 'local') checkDataDirs(config, dirs)
  return config
}

function withEpoch(loaded: LoadedConfig, epoch: number): LoadedConfig {
  const runner = { ...loaded.config.runner, infer_start_epoch: epoch, infer_end_epoch: epoch + 1 }
  return { ...loaded, config: { ...loaded.config, runner } }
}

/** The environment says which process of a job this is, and how it reaches files elsewhere. */
async function jobEnv(): Promise<Env> {
  const env = processEnv()
  const { OARFISH_FS_NAME: name, OARFISH_FS_UGI: ugi } = env
  if (name === undefined && ugi === undefined) return env
  const { setFileAccess } = await import('../base/fs/index.ts')
  setFileAccess({ name, ugi })
  return env
}
