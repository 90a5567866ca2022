/** @file What training and evaluation run on: readers and trainer threads over given parameters, pass after pass. */
import type { JobConfig } from '../../base/config/index.ts'
import { type Device, openDevice } from '../../base/device/index.ts'
import { processEnv } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import type { Batch, Part, ReaderPool, ReadOptions } from '../../data/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { createLocalParams, LocalParams, type LocalParamsHandle } from '../../weights/params/index.ts'
import type { Side } from '../passes/index.ts'
import type { Touched } from '../ps/index.ts'
import { showClickNotices, showClickTables } from '../step/index.ts'
import { createGate } from './gate.ts'
import { closeReaders, type DataFiles, inputOf, openReaders, type ReadersOptions } from './input.ts'
import type { EngineName, Phase, TrainerThreadSettings } from './messages.ts'
import { debugText, type PassHooks, type PassOptions, type PassResult, type PassStart, runPass } from './pass.ts'
import type { RowTiers } from './row-tiers.ts'
import { TableWatch } from './table-watch.ts'
import { TrainerPool, type TrainerPoolOptions } from './trainer-pool.ts'
import { TrainingWatch } from './training-watch.ts'

export interface RuntimeOptions {
  readonly config: JobConfig
  readonly model: TracedModel
  /** The phases that will run, with their input. */
  readonly files: DataFiles
  readonly trainers: TrainersOptions
  /** @default readers as the config says */
  readonly input?: ReadersOptions | undefined
  readonly engine: EngineName
  readonly emit: EventSink
  readonly signal: AbortSignal
}

/** The trainer threads, and the weights that they train. */
export interface TrainersOptions {
  /** Weights in this process, or each thread's way to the servers. */
  readonly params: LocalParamsHandle | ((thread: number) => Exclude<TrainerThreadSettings['params'], LocalParamsHandle>)
  readonly threads: number
  readonly pool?: TrainerPoolOptions | undefined
  /** What steps draw random numbers from. @default the job's seed */
  readonly seed?: number | undefined
  /** Step reports carry what was fetched. @default false */
  readonly dump?: boolean | undefined
  /** Tables with a memory limit, which the thread that hands out batches keeps. @default none */
  readonly tiers?: RowTiers | undefined
  /** Between passes threads do not keep the process from ending. @default false */
  readonly idle?: boolean | undefined
}

/** Batches handed to a thread where rows come from a disk. */
const AHEAD_OF_DISK = 4

/** What one pass does otherwise than reading all files of its phase from their beginning. */
export interface PassChanges {
  /** Where to begin; the same pass goes on with the reader it has, where it has paused there. */
  readonly from?: PassStart | undefined
  /** See PassOptions. */
  readonly pauses?: PassOptions['pauses']
  readonly input?: PassInput | undefined
  readonly hooks?: PassHooks | undefined
}

/** Which part of the data a pass reads; `files` are the phase's own in another order. */
export interface PassInput
  extends Pick<ReadOptions, 'part' | 'claim' | 'claimed' | 'begun' | 'onChunk' | 'chunkBytes' | 'allFiles'> {
  readonly files?: readonly string[] | undefined
}

/** A reader that is inside a pass. */
interface PausedInput {
  readonly batches: AsyncIterator<Batch>
  readonly totalBytes: number
  readonly position: PassResult['position']
}

export class Runtime {
  readonly #options: RuntimeOptions
  readonly #readers: ReadonlyMap<Phase, ReaderPool>
  readonly #trainers: TrainerPool
  /** Phases of which it was said that there is nothing to read: once, not every epoch. */
  readonly #idle = new Set<Phase>()
  readonly #watch: TrainingWatch | undefined
  readonly #tables: TableWatch | undefined
  /** Of the pass that has paused. */
  #paused: PausedInput | undefined

  private constructor(
    options: RuntimeOptions,
    readers: ReadonlyMap<Phase, ReaderPool>,
    trainers: TrainerPool,
    params: TrainerThreadSettings['params'],
  ) {
    this.#options = options
    this.#readers = readers
    this.#trainers = trainers
    if (options.trainers.idle) trainers.unref()
    const { config, emit } = options
    const weights = params.kind
    this.#tables = TableWatch.of(params, options.trainers.tiers)
    const warn = (message: string) => emit({ kind: 'warning', message })
    if (config.runner.training_warnings) this.#watch = new TrainingWatch({ config, weights, warn })
  }

  static async open(options: RuntimeOptions): Promise<Runtime> {
    const { config, model, files, input = {}, trainers } = options
    const onNotice = (message: string) => options.emit({ kind: 'notice', message })
    const device = openDevice(config.runner, processEnv(), onNotice)
    const readers = await openReaders(config, model, files, input)
    try {
      for (const message of showClickNotices(model.train.tables, config.table_parameters, model.slots))
        onNotice(message)
      const { params, pool } = trainers
      // Threads of this process may push slices of one batch together.
      const sliced = typeof params !== 'function' && params.dense.together
      const settings = threadSettings(options, device)
      // Rows are brought in while earlier batches are computed: the more of these wait, the less a slow read holds up.
      const ahead = trainers.tiers && { ahead: AHEAD_OF_DISK }
      const opened = await TrainerPool.open(settings, { onNotice, sliced, ...ahead, ...pool })
      return new Runtime(options, readers, opened, settings[0]!.params)
    } catch (error) {
      await closeReaders(readers)
      throw error
    }
  }

  /** One phase of one epoch, from its beginning or from where it was interrupted. */
  async pass(phase: Phase, epoch: number, changes: PassChanges = {}): Promise<PassResult> {
    const trainers = this.#trainers
    const { idle } = this.#options.trainers
    if (idle) trainers.ref()
    try {
      return await this.#pass(phase, epoch, changes)
    } finally {
      if (idle) trainers.unref()
    }
  }

  /** Begins to load what a training pass will read, where it is read into memory. */
  prefetch(epoch: number, input: PassInput): void {
    this.#readers.get('train')!.prefetch?.(this.#readOptions('train', epoch, undefined, input))
  }

  /** See TrainerPool. */
  beginPass(side: Side): Promise<number> {
    return this.#trainers.beginPass(side)
  }

  endPass(): Promise<number> {
    return this.#trainers.endPass()
  }

  /** Waits for the steps under way; which rows each thread has trained since it was last asked (geo). */
  touched(): Promise<readonly Touched[]> {
    return this.#trainers.touched()
  }

  /** Geo: how far this worker's dense weights were from those of all; see TrainingWatch. */
  noteDrift(distance: number, workers: number): void {
    this.#watch?.drift(distance, workers)
  }

  /** Ends the pass under way with this error. */
  fail(error: Error): void {
    this.#trainers.fail(error)
  }

  async close(): Promise<void> {
    await this.#paused?.batches.return?.()
    await Promise.all([this.#trainers.close(), closeReaders(this.#readers)])
  }

  async #pass(phase: Phase, epoch: number, { from, pauses, input = {}, hooks }: PassChanges): Promise<PassResult> {
    const { config, model, emit, signal } = this.#options
    const opened =
      from && this.#paused?.position === from.position ? this.#paused : this.#read(phase, epoch, from, input)
    this.#paused = undefined
    const { totalBytes } = opened
    const trainers = this.#trainers
    const { tiers } = this.#options.trainers
    const batches = tiers ? tiers.prepared(opened.batches) : opened.batches
    const watch = phase === 'train' ? this.#watch : undefined
    const watched = { watch, tiers, tables: this.#tables }
    const options = { config, model, batches, totalBytes, trainers, emit, signal, from, pauses, hooks, ...watched }
    const result = await runPass(phase, epoch, options)
    tiers?.pause()
    tiers?.report(emit, result.samples)
    if (result.paused) this.#paused = { batches, totalBytes, position: result.position }
    else if (config.runner.dataset_debug) emit({ kind: 'notice', message: debugText(phase, epoch, result) })
    return result
  }

  #readOptions(phase: Phase, epoch: number, from: PassStart | undefined, input: PassInput): ReadOptions {
    const { config, emit } = this.#options
    const { runner } = config
    const { files = this.#options.files[phase]! } = input
    return {
      ...input,
      files,
      format: inputOf(config, phase, files).format,
      batchSize: phase === 'train' ? runner.train_batch_size : runner.infer_batch_size,
      epoch,
      seed: runner.seed,
      onNotice: (message) => emit({ kind: 'notice', message }),
      dropLast: config.dataset?.dropLast,
      start: from?.position,
    }
  }

  #read(phase: Phase, epoch: number, from: PassStart | undefined, input: PassInput): Omit<PausedInput, 'position'> {
    const { emit } = this.#options
    const options = this.#readOptions(phase, epoch, from, input)
    const { files } = options
    const reader = this.#readers.get(phase)!.read(options)
    if (input.part && reader.totalBytes === 0 && !this.#idle.has(phase)) {
      this.#idle.add(phase)
      emit({ kind: 'warning', message: nothingFor(input.part, phase) })
    }
    emit({ kind: 'epochStart', phase, epoch, files: files.length, bytes: reader.totalBytes })
    return { batches: reader[Symbol.asyncIterator](), totalBytes: reader.totalBytes }
  }
}

function nothingFor({ index, count }: Part, phase: Phase): string {
  const data = phase === 'train' ? 'the data' : 'the test data'
  return `worker[${index}] has nothing to read: ${data} has fewer files, or parts of large ones, than the ${count} workers of this job.`
}

function threadSettings(options: RuntimeOptions, device: Device): TrainerThreadSettings[] {
  const { config, model, files, engine, input, trainers } = options
  const { runner } = config
  const { train, infer, metrics, optimizer, dygraph } = model
  const { params, threads, dump, seed = runner.seed } = trainers
  const { slots = model.slots } = input ?? {}
  return Array.from({ length: threads }, (_, thread) => ({
    thread,
    engine,
    gate: createGate(),
    device,
    programs: { train: files.train && train, infer: files.infer && infer },
    slots,
    metrics,
    params: typeof params === 'function' ? params(thread) : params,
    segments: runner.table_segments,
    seed,
    batchSizes: { train: runner.train_batch_size, infer: runner.infer_batch_size },
    clip: optimizer.clip,
    showClick: showClickTables(train.tables, config.table_parameters, slots),
    dump,
    dygraph,
  }))
}

/** Parameters at their initial values, as this thread uses them. */
export function createParams(
  { runner, table_parameters: tableParameters }: JobConfig,
  { train, dygraph }: TracedModel,
  optimizers: Pick<TracedModel, 'optimizer' | 'tableOptimizers'>,
  threads: number,
  gradientRoom = false,
): LocalParams {
  const { seed, table_segments: segments, thread_mode } = runner
  const { optimizer, tableOptimizers } = optimizers
  // The traces of a dynamic model differ from slice to slice, so its threads cannot push together.
  const together = thread_mode === 'sync' && threads > 1 && !dygraph
  const inFlight = together ? 0 : Math.max(0, threads - 1)
  const own = { program: train, optimizer, tableOptimizers, tableParameters, seed, segments, inFlight }
  const options = { ...own, together: together || gradientRoom }
  // One thread more than trainers: this one saves, loads and looks at the result.
  return new LocalParams(createLocalParams({ ...options, threads: threads + 1 }), threads)
}
