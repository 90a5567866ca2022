/** @file Training as a whole: config, model, parameters, readers and threads; epoch after epoch. */
import { performance } from 'node:perf_hooks'
import { explain, type LoadedConfig } from '../config/index.ts'
import type { EventSink, Metrics } from '../event/index.ts'
import { type GraphMode, loadModel, loadModelAs } from '../model/index.ts'
import { programHash } from '../program/index.ts'
import { checkData } from './check-data.ts'
import { type CheckpointOptions, findStart, prepareSaving, saveEpoch, saveInterrupted } from './checkpoint.ts'
import { inferenceSaver, type SaveInference } from './inference-model.ts'
import type { PassStart } from './loop.ts'
import type { EngineName } from './messages.ts'
import { createParams, findDataFiles, Runtime } from './runtime.ts'

export interface TrainOptions {
  readonly config: LoadedConfig
  readonly emit: EventSink
  /** Aborting finishes the steps under way, saves and ends training there. */
  readonly signal?: AbortSignal
  /** Goes on from the newest checkpoint in model_save_path, if there is one. @default false */
  readonly resume?: boolean
  /** Computes TrainResult.digest. */
  readonly digest?: boolean
  /** `null` computes nothing, to time input; `reference` is slow and exact. @default 'ort' */
  readonly engine?: EngineName
  /** Which file the model is: static_model.ts or dygraph_model.ts. @default 'static' */
  readonly mode?: GraphMode
}

export interface TrainResult {
  readonly samples: number
  readonly seconds: number
  readonly metrics: Metrics
  readonly evaluation?: Metrics
  readonly interrupted: boolean
  /** SHA-256 over weights, optimizer state and rows. */
  readonly digest?: string
}

/** Trains as the config says; saves after each epoch and evaluates on test_data_dir. */
export async function train({
  config: loaded,
  emit,
  signal = new AbortController().signal,
  resume = false,
  digest = false,
  engine = 'ort',
  mode = 'static',
}: TrainOptions): Promise<TrainResult> {
  const started = performance.now()
  const { config } = loaded
  for (const message of loaded.notices) emit({ kind: 'notice', message })
  const files = await findDataFiles(config, ['train', 'infer'])
  const model = await loadModelAs(mode, loaded)
  await checkData(loaded, model, files)
  emit({ kind: 'start', command: 'train', model: config.dir, settings: explain(config) })
  await prepareSaving(config)
  const threads = config.runner.thread_num
  const params = createParams(config, model, model, threads)
  const checkpoints = { config, params, program: programHash(model.train), files: files.train!, resume, emit }
  // A model for inference is a static graph, whichever way it was trained.
  const exported = config.runner.use_inference && mode === 'dygraph' ? await loadModel(loaded) : model
  const saveInference = inferenceSaver(config, exported, params, files, emit)
  const start = await findStart(checkpoints)
  const runtime = await Runtime.open({ config, model, files, params: params.handle, threads, engine, emit, signal })
  emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
  try {
    const total = await runEpochs(runtime, checkpoints, start, files.infer !== undefined, saveInference)
    const result = { ...total.result, ...(digest && { digest: params.digest() }) }
    const { interrupted, ...summary } = result
    const samplesPerSecond = result.seconds > 0 ? result.samples / result.seconds : 0
    emit({ kind: 'done', ...summary, samplesPerSecond, breakdown: total.breakdown })
    return result
  } finally {
    await runtime.close()
  }
}

/** Epoch after epoch, each saved and evaluated; sums up samples and training time. */
async function runEpochs(
  runtime: Runtime,
  checkpoints: CheckpointOptions,
  start: PassStart,
  evaluate: boolean,
  saveInference: SaveInference | undefined,
): Promise<{ result: TrainResult; breakdown: Record<string, number> }> {
  const { emit, config } = checkpoints
  const { epochs } = config.runner
  if (start.position.epoch >= epochs) {
    const message = `All ${epochs} epochs are trained already; raise runner.epochs to train on.`
    emit({ kind: 'notice', message })
  }
  let result: TrainResult = { samples: 0, seconds: 0, metrics: {}, interrupted: false }
  const breakdown: Record<string, number> = {}
  for (let epoch = start.position.epoch; epoch < epochs && !result.interrupted; epoch++) {
    const trained = await runtime.pass('train', epoch, epoch === start.position.epoch ? start : undefined)
    for (const [part, seconds] of Object.entries(trained.breakdown)) breakdown[part] = (breakdown[part] ?? 0) + seconds
    result = {
      ...result,
      samples: result.samples + trained.samples,
      seconds: result.seconds + trained.seconds,
      metrics: trained.metrics,
      interrupted: trained.interrupted,
    }
    const save = trained.interrupted ? saveInterrupted(checkpoints, trained) : saveEpoch(checkpoints, epoch, trained)
    const path = await save
    if (!trained.interrupted) await saveInference?.(epoch)
    if (!trained.interrupted && evaluate) {
      const evaluated = await runtime.pass('infer', epoch)
      result = { ...result, evaluation: evaluated.metrics, interrupted: evaluated.interrupted }
    }
    if (result.interrupted) {
      const { lastBatch: batch, meter } = trained
      emit({ kind: 'interrupted', epoch, batch, samples: meter.samples, ...(path !== undefined && { path }) })
    }
  }
  return { result, breakdown }
}
