/** @file What training and evaluation run on: data files, readers and trainer threads over given parameters. */
import { availableParallelism } from 'node:os'
import type { JobConfig } from '../config/index.ts'
import {
  type Exchange,
  listDataFiles,
  namedAsData,
  openMemoryPool,
  openReaderPool,
  type Part,
  type ReaderPool,
  type ReadOptions,
  readHead,
} from '../data/index.ts'
import type { EventSink } from '../event/index.ts'
import { tellFileAccess } from '../fs/index.ts'
import type { TracedModel } from '../model/index.ts'
import { createLocalParams, LocalParams, type LocalParamsHandle } from '../params/index.ts'
import type { Touched } from '../ps/index.ts'
import { type Input, inputOf } from './input.ts'
import { type PassOptions, type PassResult, type PassStart, runPass } from './loop.ts'
import type { EngineName, Phase, ThreadSettings } from './messages.ts'
import { sharesText } from './shares.ts'
import { shownNotices, shownTables } from './shown.ts'
import { type StepReport, TrainerPool, type TrainerPoolOptions } from './trainer-pool.ts'

export type DataFiles = Readonly<Partial<Record<Phase, readonly string[]>>>

export interface RuntimeOptions {
  readonly config: JobConfig
  readonly model: TracedModel
  /** The phases that will run, with their input. */
  readonly files: DataFiles
  /** Weights in this process, or each thread's way to the servers. */
  readonly params: LocalParamsHandle | ((thread: number) => Exclude<ThreadSettings['params'], LocalParamsHandle>)
  readonly pool?: TrainerPoolOptions
  readonly threads: number
  readonly engine: EngineName
  /** How a global shuffle reaches the other workers. @default there are none */
  readonly exchange?: Exchange
  /** What steps draw random numbers from. @default the job's seed */
  readonly seed?: number
  /** Step reports carry what was fetched. @default false */
  readonly dump?: boolean
  /** The order in which the data has its slots. @default the model's */
  readonly slots?: TracedModel['slots']
  /** Where batches come from, by phase; they stay the caller's to close. @default readers as the config says */
  readonly readers?: Readonly<Partial<Record<Phase, ReaderPool>>>
  readonly emit: EventSink
  readonly signal: AbortSignal
}

/** What one pass does otherwise: `files` are the phase's own in another order. */
type PassChanges = Partial<
  Pick<ReadOptions, 'part' | 'files' | 'claim' | 'onChunk' | 'chunkBytes' | 'allFiles'> &
    Pick<PassOptions, 'together' | 'afterBatch' | 'onReport' | 'inStep'>
>

export class Runtime {
  readonly #options: RuntimeOptions
  readonly #readers: ReadonlyMap<Phase, ReaderPool>
  readonly #trainers: TrainerPool
  readonly #reports: { listener: (report: StepReport) => void }
  /** Phases of which it was said that there is nothing to read: once, not every epoch. */
  readonly #idle = new Set<Phase>()

  private constructor(
    options: RuntimeOptions,
    readers: ReadonlyMap<Phase, ReaderPool>,
    trainers: TrainerPool,
    reports: { listener: (report: StepReport) => void },
  ) {
    this.#options = options
    this.#readers = readers
    this.#trainers = trainers
    this.#reports = reports
  }

  static async open(options: RuntimeOptions): Promise<Runtime> {
    const reports = { listener: (_: StepReport) => {} }
    const readers = await openReaders(options)
    try {
      const onStep = (report: StepReport) => reports.listener(report)
      const onNotice = (message: string) => options.emit({ kind: 'notice', message })
      for (const message of noticesOf(options)) onNotice(message)
      const trainers = await TrainerPool.open(threadSettings(options), onStep, { onNotice, ...options.pool })
      return new Runtime(options, readers, trainers, reports)
    } catch (error) {
      await closeReaders(readers)
      throw error
    }
  }

  /** Whether the threads push slices of one batch together. */
  get #pushTogether(): boolean {
    const { params } = this.#options
    return 'dense' in params && params.dense.together
  }

  /** One phase of one epoch, from its beginning or from where it was interrupted. */
  async pass(
    phase: Phase,
    epoch: number,
    from?: PassStart,
    {
      part,
      claim,
      onChunk,
      chunkBytes,
      allFiles,
      together,
      files: ordered,
      afterBatch,
      onReport,
      inStep,
    }: PassChanges = {},
  ): Promise<PassResult> {
    const { config, model, files, emit, signal } = this.#options
    const { runner } = config
    const input = ordered ?? files[phase]!
    const reader = this.#readers.get(phase)!.read({
      files: input,
      format: inputOf(config, phase, input).format,
      batchSize: phase === 'train' ? runner.train_batch_size : runner.infer_batch_size,
      epoch,
      seed: runner.seed,
      onNotice: (message) => emit({ kind: 'notice', message }),
      ...(config.dataset && { dropLast: config.dataset.dropLast }),
      ...(from && { start: from.position }),
      ...(part && { part }),
      ...(claim && { claim }),
      ...(onChunk && { onChunk }),
      ...(chunkBytes !== undefined && { chunkBytes }),
      ...(allFiles && { allFiles }),
    })
    if (part && reader.totalBytes === 0 && !this.#idle.has(phase)) {
      this.#idle.add(phase)
      emit({ kind: 'warning', message: nothingFor(part, phase) })
    }
    emit({ kind: 'epochStart', phase, epoch, files: input.length, bytes: reader.totalBytes })
    const [trainers, reports] = [this.#trainers, this.#reports]
    const printInterval = runner.print_interval
    const result = await runPass({
      ...{ phase, epoch, reader, trainers, reports, printInterval, emit, signal, specs: model.metrics },
      sliced: phase === 'train' && this.#pushTogether,
      ...(from && { from }),
      ...(together && { together }),
      ...(afterBatch && { afterBatch }),
      ...(onReport && { onReport }),
      ...(inStep && { inStep }),
    })
    if (runner.dataset_debug) emit({ kind: 'notice', message: sharesText(phase, epoch, result) })
    return result
  }

  /** Waits for the steps under way; which rows each thread has trained since it was last asked (geo). */
  touched(): Promise<readonly Touched[]> {
    return this.#trainers.touched()
  }

  /** Ends the pass under way with this error. */
  fail(error: Error): void {
    this.#trainers.fail(error)
  }

  /** Threads that wait for another pass do not keep the process from ending. */
  unref(): void {
    this.#trainers.unref()
  }

  ref(): void {
    this.#trainers.ref()
  }

  async close(): Promise<void> {
    await Promise.all([this.#trainers.close(), closeReaders(this.#readers)])
  }
}

export async function findDataFiles({ runner }: JobConfig, phases: readonly Phase[]): Promise<DataFiles> {
  tellFileAccess({ name: runner.fs_name, ugi: runner.fs_ugi })
  const dirs = { train: runner.train_data_dir, infer: runner.test_data_dir }
  const keys = { train: 'runner.train_data_dir', infer: 'runner.test_data_dir' }
  const found = await Promise.all(
    phases.map(async (phase) => {
      const dir = dirs[phase]
      return dir === undefined ? [] : [[phase, await listDataFiles(dir, keys[phase])] as const]
    }),
  )
  return Object.fromEntries(found.flat())
}

/** Parameters at their initial values, and this thread's hold on them. */
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

function nothingFor({ index, count }: Part, phase: Phase): string {
  const data = phase === 'train' ? 'the data' : 'the test data'
  return `worker[${index}] has nothing to read: ${data} has fewer files, or parts of large ones, than the ${count} workers of this job.`
}

async function openReaders({
  config,
  model,
  files,
  slots: order = model.slots,
  readers = {},
  exchange,
}: RuntimeOptions): Promise<ReadonlyMap<Phase, ReaderPool>> {
  const { runner } = config
  const pools = new Map<string, ReaderPool>()
  const head = await readHead(files.train ?? files.infer ?? [], HEAD_BYTES)
  const slots = namedAsData(order, head)
  const open = ({ reader, inMemory }: Input, phase: Phase) => {
    const threads = runner.reader_threads || automaticReaders(runner.thread_num)
    const options = { ...reader, slots, threads }
    const [parseInsId, parseContent] = [runner.parse_ins_id, runner.parse_content]
    const shuffle = phase === 'train' ? shuffleOf(runner) : undefined
    return inMemory
      ? openMemoryPool({ ...options, shuffle, parseInsId, parseContent, ...(exchange && { exchange }) })
      : openReaderPool(options)
  }
  return new Map(
    (Object.keys(files) as Phase[]).map((phase) => {
      const given = readers[phase]
      if (given) return [phase, { read: (options) => given.read(options), close: async () => undefined }]
      const input = inputOf(config, phase, files[phase]!)
      // Phases that read alike share threads; what is kept in memory is each phase's own.
      const key = JSON.stringify([input.reader, input.inMemory && phase])
      const pool = pools.get(key) ?? open(input, phase)
      pools.set(key, pool)
      return [phase, pool]
    }),
  )
}

function shuffleOf({ local_shuffle, global_shuffle }: JobConfig['runner']): 'local' | 'global' | undefined {
  return global_shuffle ? 'global' : local_shuffle ? 'local' : undefined
}

/** Enough to see by which names slots go. */
const HEAD_BYTES = 64 * 1024

async function closeReaders(readers: ReadonlyMap<Phase, ReaderPool>): Promise<void> {
  await Promise.all([...new Set(readers.values())].map((pool) => pool.close()))
}

/** A reader thread feeds about ten trainer threads, but a user's own reader is slower: some, not all, of the cores. */
function automaticReaders(trainers: number): number {
  return Math.max(1, Math.min(4, availableParallelism() - trainers))
}

function noticesOf({ config, model }: RuntimeOptions): string[] {
  return shownNotices(model.train.tables, config.table_parameters, model.slots)
}

function threadSettings(options: RuntimeOptions): ThreadSettings[] {
  const { config, model, files, params, threads, engine, dump, slots = model.slots } = options
  const { runner } = config
  const { train, infer, metrics, optimizer, dygraph } = model
  const programs = { ...(files.train && { train }), ...(files.infer && { infer }) }
  return Array.from({ length: threads }, (_, thread) => ({
    ...{ thread, engine, programs, slots, metrics },
    params: typeof params === 'function' ? params(thread) : params,
    segments: runner.table_segments,
    seed: options.seed ?? runner.seed,
    batchSizes: { train: runner.train_batch_size, infer: runner.infer_batch_size },
    ...(dump && { dump }),
    ...(optimizer.clip && { clip: optimizer.clip }),
    shown: shownTables(train.tables, config.table_parameters, slots),
    ...(dygraph && { dygraph }),
  }))
}
