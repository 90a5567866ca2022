/** @file train(): from a checked config to a trained model. Opens what the loop needs, runs epochs, closes everything. */
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import { explain, type JobConfig, type LoadedConfig } from '../config/index.ts'
import { listDataFiles, openReaderPool, type ReaderPool } from '../data/index.ts'
import type { EventSink, Metrics } from '../event/index.ts'
import { loadModel, type TracedModel } from '../model/index.ts'
import { createLocalParams, LocalParams, type LocalParamsHandle } from '../params/index.ts'
import { type PassResult, runPass } from './loop.ts'
import type { EngineName, Phase, ThreadSettings } from './messages.ts'
import { type StepReport, TrainerPool } from './trainer-pool.ts'

export interface TrainOptions {
  readonly config: LoadedConfig
  readonly emit: EventSink
  /** Aborting finishes the steps under way and ends training there. */
  readonly signal?: AbortSignal
  /** Computes TrainResult.digest. */
  readonly digest?: boolean
  /** `null` computes nothing, to time input; `reference` is slow and exact. @default 'ort' */
  readonly engine?: EngineName
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

/** Trains as the config says; evaluates on test_data_dir after each epoch. */
export async function train({
  config: loaded,
  emit,
  signal = new AbortController().signal,
  digest = false,
  engine = 'ort',
}: TrainOptions): Promise<TrainResult> {
  const started = performance.now()
  const { config } = loaded
  for (const message of loaded.notices) emit({ kind: 'notice', message })
  const files = await dataFiles(config)
  const model = await loadModel(loaded)
  emit({ kind: 'start', command: 'train', model: config.dir, settings: explain(config) })
  const params = localParams(config, model)
  const readers = openReaders(config, model)
  const reports = { listener: (_: StepReport) => {} }
  const trainers = await openTrainers(config, model, params, engine, (report) => reports.listener(report)).catch(
    async (error) => {
      await closeReaders(readers)
      throw error
    },
  )
  emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
  const pass = (phase: Phase, epoch: number) => {
    const { runner } = config
    const reader = readers[phase].read({
      files: files[phase],
      format: runner.data_format,
      batchSize: phase === 'train' ? runner.train_batch_size : runner.infer_batch_size,
      epoch,
      seed: runner.seed,
      onNotice: (message) => emit({ kind: 'notice', message }),
    })
    emit({ kind: 'epochStart', epoch, files: files[phase].length, bytes: reader.totalBytes })
    return runPass({ phase, epoch, reader, trainers, reports, printInterval: runner.print_interval, emit, signal })
  }
  try {
    const total = await runEpochs(config, files.infer.length > 0, pass, emit)
    const result = {
      ...total.result,
      ...(digest && { digest: new LocalParams(params, config.runner.thread_num).digest() }),
    }
    const { interrupted, ...summary } = result
    emit({ kind: 'done', ...summary, samplesPerSecond: result.samples / result.seconds, breakdown: total.breakdown })
    return result
  } finally {
    await Promise.all([trainers.close(), closeReaders(readers)])
  }
}

/** Epoch after epoch, each followed by its evaluation; sums up samples and training time. */
async function runEpochs(
  { runner }: JobConfig,
  evaluate: boolean,
  pass: (phase: Phase, epoch: number) => Promise<PassResult>,
  emit: EventSink,
): Promise<{ result: TrainResult; breakdown: Record<string, number> }> {
  let result: TrainResult = { samples: 0, seconds: 0, metrics: {}, interrupted: false }
  const breakdown: Record<string, number> = {}
  for (let epoch = runner.last_epoch + 1; epoch < runner.epochs && !result.interrupted; epoch++) {
    const trained = await pass('train', epoch)
    for (const [part, seconds] of Object.entries(trained.breakdown)) breakdown[part] = (breakdown[part] ?? 0) + seconds
    result = {
      ...result,
      samples: result.samples + trained.samples,
      seconds: result.seconds + trained.seconds,
      metrics: trained.metrics,
      interrupted: trained.interrupted,
    }
    if (trained.interrupted) {
      emit({ kind: 'interrupted', epoch, batch: trained.lastBatch, samples: trained.samples })
    } else if (evaluate) {
      const evaluated = await pass('infer', epoch)
      result = { ...result, evaluation: evaluated.metrics, interrupted: evaluated.interrupted }
    }
  }
  return { result, breakdown }
}

async function dataFiles({ runner }: JobConfig): Promise<Record<Phase, readonly string[]>> {
  const { train_data_dir, test_data_dir } = runner
  return {
    train: await listDataFiles(train_data_dir, 'runner.train_data_dir'),
    infer: test_data_dir === undefined ? [] : await listDataFiles(test_data_dir, 'runner.test_data_dir'),
  }
}

function localParams({ runner }: JobConfig, { train, optimizer, tableOptimizers }: TracedModel): LocalParamsHandle {
  const { seed, thread_num, table_segments } = runner
  // One thread more than trainers: the main thread looks at the result.
  return createLocalParams({
    program: train,
    optimizer,
    tableOptimizers,
    seed,
    threads: thread_num + 1,
    segments: table_segments,
  })
}

function openReaders({ runner, hyper_parameters }: JobConfig, { slots }: TracedModel): Record<Phase, ReaderPool> {
  const open = (path: string | undefined) =>
    openReaderPool({
      slots,
      threads: runner.reader_threads || automaticReaders(runner.thread_num),
      onBadLine: runner.on_bad_line,
      ...(path !== undefined && existsSync(path) && { userReader: { path, config: { runner, hyper_parameters } } }),
    })
  const train = open(runner.train_reader_path)
  return {
    train,
    infer: runner.infer_reader_path === runner.train_reader_path ? train : open(runner.infer_reader_path),
  }
}

async function closeReaders(readers: Record<Phase, ReaderPool>): Promise<void> {
  await Promise.all([...new Set(Object.values(readers))].map((pool) => pool.close()))
}

/** A reader thread feeds about ten trainer threads, but a user's own reader is slower: some, not all, of the cores. */
function automaticReaders(trainers: number): number {
  return Math.max(1, Math.min(4, availableParallelism() - trainers))
}

function openTrainers(
  { runner }: JobConfig,
  { train, infer, slots, metrics, optimizer }: TracedModel,
  params: LocalParamsHandle,
  engine: EngineName,
  onStep: (report: StepReport) => void,
): Promise<TrainerPool> {
  const settings = Array.from(
    { length: runner.thread_num },
    (_, thread): ThreadSettings => ({
      thread,
      engine,
      programs: { train, infer },
      slots,
      metrics,
      params,
      segments: runner.table_segments,
      seed: runner.seed,
      batchSizes: { train: runner.train_batch_size, infer: runner.infer_batch_size },
      ...(optimizer.clip && { clip: optimizer.clip }),
    }),
  )
  return TrainerPool.open(settings, onStep)
}
