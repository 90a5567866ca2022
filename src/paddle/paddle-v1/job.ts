/** @file What passes need of a job, and a job of one process: weights, threads, saved passes. */
import { dirname } from 'node:path'
import { type JobConfig, programConfig } from '../../base/config/index.ts'
import type { Env } from '../../base/env/index.ts'
import type { EventSink, Metrics } from '../../base/event/index.ts'
import { ownFolder } from '../../base/fs/index.ts'
import { shown } from '../../base/util/index.ts'
import { programHash } from '../../graph/program/index.ts'
import {
  createParams,
  type DataFiles,
  type PassResult,
  Runtime,
  type StepReport,
} from '../../training/threads/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import { loadSnapshot, openSnapshot, saveSnapshot } from '../../weights/snapshot/index.ts'
import { goingOnFrom } from './going-on.ts'
import type { TrainerConfig } from './load-config.ts'
import type { TrainerOptions } from './option-table.ts'
import { openProviderPool } from './reading.ts'

export interface JobOptions {
  readonly config: TrainerConfig
  readonly options: TrainerOptions
  /** Absolute paths. */
  readonly files: DataFiles
  readonly env: Env
  readonly emit: EventSink
  readonly signal: AbortSignal
  /** Sees every step of training. */
  readonly onStep?: ((report: StepReport) => void) | undefined
}

/** What decides which passes there are and what is saved: the same for all trainers of a job. */
export const PASS_OPTIONS = [
  'job',
  'start_pass',
  'num_passes',
  'test_pass',
  'saving_period',
  'save_dir',
  'init_model_path',
] as const satisfies readonly (keyof TrainerOptions)[]
export interface PassOptions extends Pick<TrainerOptions, (typeof PASS_OPTIONS)[number]> {
  /** The pass that an earlier start of this job has saved last, from which it goes on. */
  readonly saved_pass?: number | undefined
}

/** Of all options, as they are sent to the others. */
export const passOptionsOf = (options: TrainerOptions): PassOptions =>
  Object.fromEntries(PASS_OPTIONS.map((name) => [name, options[name]])) as Pick<
    TrainerOptions,
    (typeof PASS_OPTIONS)[number]
  >

export interface TrainerJob {
  /** Those of node 0. */
  readonly options: PassOptions
  /** This is node 0. */
  readonly isFirst: boolean
  /** Whether there is a test list. */
  readonly tests: boolean
  pass(phase: 'train' | 'infer', pass: number): Promise<PassResult>
  /** Where a saved pass is loaded from: its weights, and with `whole` the optimizer's state too. */
  load(folder: string, whole: boolean): Promise<void>
  /** Writes what was trained up to and with this pass. */
  save(folder: string, pass: number, metrics: Metrics): Promise<void>
  /** In good order: everything is done. */
  close(): Promise<void>
  /** The job ends here with this error, for its other processes too. */
  abort(error: Error): Promise<void>
}

export async function openLocalJob(given: JobOptions): Promise<TrainerJob> {
  const { config, options, files, emit, signal, onStep, env } = given
  const { model } = config
  const job = jobConfig(config, options, config.batchSize)
  const threads = options.trainer_count
  const params = createParams(job, model, model, threads)
  const runtime = await Runtime.open({
    config: job,
    model,
    files,
    trainers: { params: params.handle, threads },
    input: { readers: readersOf({ config, options, files }) },
    engine: 'ort',
    emit,
    signal,
  })
  return {
    options: await goingOnFrom(options, env, emit),
    isFirst: true,
    tests: files.infer !== undefined,
    pass: (phase, pass) => runtime.pass(phase, pass, { hooks: { onReport: phase === 'train' ? onStep : undefined } }),
    load: (folder, whole) => loadPass(folder, params, whole, emit),
    save: (folder, pass, metrics) => savePass(folder, { params, config, seed: options.seed, pass, metrics, emit }),
    close: () => runtime.close(),
    abort: () => runtime.close(),
  }
}

/** The keys of a runner that a job of trainers is. `batch` is that of what makes a step: a node, or one of its threads. */
export function jobConfig({ batchSize }: TrainerConfig, options: TrainerOptions, batch: number): JobConfig {
  const { trainer_count: threads, seed, log_period: period, use_gpu } = options
  return programConfig(
    {
      train_batch_size: batch,
      infer_batch_size: batchSize,
      thread_num: threads,
      thread_mode: 'sync',
      use_gpu,
      seed,
      print_interval: period === 0 ? NEVER : period * Math.round(batchSize / batch),
    },
    process.cwd(),
  )
}

const NEVER = 2 ** 31 - 1

export function readersOf({ config, options, files }: Pick<JobOptions, 'config' | 'options' | 'files'>) {
  const { sources, model } = config
  const reader = { config: options.config, configArgs: options.config_args }
  const phases = Object.keys(files) as (keyof DataFiles)[]
  const open = (phase: keyof DataFiles) =>
    openProviderPool(phase, { slots: model.slots, reader, provider: sources!.provider })
  return Object.fromEntries(phases.map((phase) => [phase, open(phase)]))
}

export async function loadPass(folder: string, params: LocalParams, whole: boolean, emit: EventSink): Promise<void> {
  const snapshot = await openSnapshot(folder, '--init_model_path')
  await loadSnapshot({ snapshot, params, emit, otherOptimizer: whole ? 'refuse' : 'weights' })
  emit({ kind: 'loaded', path: shown(folder), epoch: snapshot.manifest.position.epoch - 1 })
}

interface SavedPass {
  readonly params: LocalParams
  readonly config: TrainerConfig
  readonly seed: number
  readonly pass: number
  readonly metrics: Metrics
  readonly emit: EventSink
}

export async function savePass(
  folder: string,
  { params, config, seed, pass, metrics, emit }: SavedPass,
): Promise<void> {
  const onWait = (message: string) => emit({ kind: 'notice', message })
  const lock = await ownFolder(dirname(folder), { key: '--save_dir', onWait })
  const position = { epoch: pass + 1, batch: 0, chunk: 0, sample: 0 }
  const state = { program: programHash(config.model.train), seed, position, metrics }
  const took = await saveSnapshot({ folder, params, state, emit, lock })
  emit({ kind: 'saved', path: shown(folder), epoch: pass, ...took })
}
