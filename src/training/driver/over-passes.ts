/** @file The GPU parameter server: training alone, pass after pass over rows that were copied out of the host's tables. */
import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import type { LoadedConfig } from '../../base/config/index.ts'
import { openDevice } from '../../base/device/index.ts'
import { processEnv } from '../../base/env/index.ts'
import { isUserError, sizeOf, UserError } from '../../base/util/index.ts'
import { countPieces, type InputKind, measureFiles, openReaderPool, type ReaderPoolOptions } from '../../data/index.ts'
import { refuseLimits } from '../../weights/params/index.ts'
import type { Position } from '../../weights/snapshot/index.ts'
import {
  createSides,
  PassCycle,
  type PassHandle,
  type PassLimits,
  PassReader,
  PrepareThreads,
  planPasses,
  sampleGrowth,
  slotTables,
} from '../passes/index.ts'
import { rowsPlace } from '../step/index.ts'
import {
  type Input,
  inputKind,
  inputOf,
  type PassResult,
  type PassStart,
  type Phase,
  Runtime,
  readerThreads,
  shuffleOf,
  slotsInData,
} from '../threads/index.ts'
import { LocalTraining } from './alone.ts'
import { epochFiles, runtimeOptions, type TrainingContext, type TrainingJob } from './job.ts'
import { noticeExamples, noticeTotal } from './worker-input.ts'

/** Dense weights as they were at the end of a pass. */
interface EndedPlace {
  readonly position: Position
  readonly dense: Uint8Array
  readonly steps: number
}

export interface PassesOptions {
  /** Devices that train together: a batch each, rows owned by sign, dense weights averaged. @default 1 */
  readonly devices?: number | undefined
}

/** Trains pass by pass. An epoch is one pass, or as many as runner.pass_memory asks for. */
export function overPasses({ devices = 1 }: PassesOptions = {}): (context: TrainingContext) => TrainingJob {
  return (context) => new PassTraining(context, devices)
}

class PassTraining extends LocalTraining {
  readonly #devices: number
  /** As the config has it, where it says how many threads prepare. */
  readonly #preparers: number
  #threads: PrepareThreads | undefined
  #reader: PassReader | undefined
  #start: PassStart | undefined
  /** Where the last pass ended, inside the epoch under way. */
  #ended: EndedPlace | undefined
  /** It was said how many samples there are. */
  #isCounted = false

  constructor(context: TrainingContext, devices: number) {
    super({ ...context, config: withTrainers(context.config, devices) })
    this.#devices = devices
    this.#preparers = Math.max(1, Math.min(context.config.config.runner.thread_num, availableParallelism()))
  }

  /** A trainer beside the process that keeps the job's port. */
  get role() {
    return { role: 'worker', rank: 0, threads: this.#preparers } as const
  }

  override async prepare(): Promise<void> {
    if (this.context.mode === 'dygraph') throw dynamic()
    refuseLimits(this.context.config.config.table_parameters, 'under passes')
    await super.prepare()
  }

  override async load(): Promise<PassStart> {
    this.#start = await super.load()
    return this.#start
  }

  override async open(): Promise<void> {
    const { model, files, context, params } = this
    const devices = this.#devices
    const sides = createSides(params.handle.tables)
    await this.#noticeFiles()
    this.#reader = new PassReader(await this.#readerOptions())
    const trainers = {
      params: (thread: number): PassHandle => ({
        kind: 'pass',
        host: params.handle,
        sides,
        device: { index: thread, count: devices },
      }),
      threads: devices,
      pool: { sliced: devices > 1 },
    }
    const slots = { groups: this.#groups, sparseSlots: this.#sparse.length }
    const tables = { host: params.handle.tables, sides }
    // Trainers come first, then this thread.
    const threads = new PrepareThreads({ ...tables, ...slots }, devices + 1, this.#preparers)
    this.#threads = threads
    const input = { readers: { train: this.#reader } }
    this.runtime = await Runtime.open({ ...runtimeOptions(context), model, files, trainers, input })
    const cycle = new PassCycle({ host: params.tables, sides, threads, trainers: this.runtime, thread: devices })
    this.#reader.attach(cycle)
    const { epoch, chunk } = this.#start!.position
    // Data that come in while the job runs are not there yet.
    if (!context.rules.schedule && epoch < context.config.config.runner.epochs) this.#reader.prepare(epoch, chunk)
  }

  /** The reader of passes loads the next one itself. */
  override prefetch(): void {}

  override async pass(phase: Phase, epoch: number, from?: PassStart): Promise<PassResult> {
    if (phase === 'infer') return super.pass(phase, epoch, from)
    const reader = this.#reader!
    const end = async (batch: number) => {
      await reader.end()
      this.#ended = this.#mark({ epoch, batch: batch + 1, chunk: reader.pass + 1, sample: 0 })
    }
    const hooks = {
      afterBatch: (batch: number) => (reader.endsPass(batch) ? () => end(batch) : undefined),
      settle: () => reader.end(),
    }
    this.#ended = undefined
    try {
      return await this.runtime!.pass(phase, epoch, { from, hooks, input: { files: this.#filesOf(epoch) } })
    } catch (error) {
      throw isUserError(error) && /^DEVICE_/.test(error.code) ? await this.#saveEnded(error, epoch) : error
    }
  }

  /** What a save settles and a day's end drops is not in rows that were pulled for the next pass. */
  override async save(epoch: number, trained: PassResult): Promise<string | undefined> {
    const path = await super.save(epoch, trained)
    if (this.context.rules.schedule && this.params.tables.some(({ accessor }) => accessor)) this.#reader?.pullAnew()
    return path
  }

  /** Rows lie on devices inside a pass. */
  override get cuts(): undefined {
    return undefined
  }

  /** The host's tables are as the last pass left them; dense weights have gone on since. */
  #mark(position: Position): EndedPlace {
    const { dense } = this.params
    return { position, dense: dense.bytes().slice(), steps: dense.steps }
  }

  /** A device failed inside a pass: everything up to the pass before it is kept. */
  async #saveEnded(error: UserError, epoch: number): Promise<UserError> {
    const ended = this.#ended
    if (!ended) return goOn(error, `the pass of epoch ${epoch} begins anew; epochs before it are saved`)
    // Steps under way on other threads would write over what is restored.
    await this.runtime?.close()
    this.runtime = undefined
    const { dense } = this.params
    dense.bytes().set(ended.dense)
    dense.restoreSteps(ended.steps)
    const { position } = ended
    const meter = { samples: 0, batches: position.batch, seconds: 0, sums: {}, histograms: {} }
    const nothing = { samples: 0, seconds: 0, metrics: {}, breakdown: {}, readerSeconds: 0 }
    const { path } = await this.saveInterrupted({
      ...nothing,
      lastBatch: position.batch - 1,
      interrupted: true,
      paused: false,
      position,
      meter,
      own: meter,
    })
    if (path === undefined) return goOn(error, 'nothing is saved, since runner.model_save_path is empty')
    return goOn(error, `the passes before it are saved in ${path}`)
  }

  override async close(): Promise<void> {
    await super.close()
    await Promise.all([this.#threads?.close(), this.#reader?.close()])
  }

  #filesOf(epoch: number): readonly string[] {
    return epochFiles(this.context.rules, 'train', epoch) ?? this.files.train!
  }

  /** As static_gpubox_trainer says what it read. */
  async #noticeFiles(): Promise<void> {
    const { config, emit } = this.context
    const files = this.#filesOf(this.#start!.position.epoch)
    const say = (message: string) => emit({ kind: 'notice', message })
    say(`train file_list: [${files.map((file) => `'${file}'`).join(', ')}]`)
    say(`File list: [${files.map((file) => `'${basename(file)}'`).join(', ')}]`)
    say('Get InmemoryDataset')
    this.#isCounted = await noticeExamples(files, inputOf(config.config, 'train', files).isText, emit)
  }

  /** Into how many passes epochs are cut; undefined where there is so much memory that nobody need ask. */
  async #plan(options: ReaderPoolOptions, kind: InputKind, format: Input['format']): Promise<number | undefined> {
    const { runner } = this.context.config.config
    const files = this.#filesOf(this.#start!.position.epoch)
    const measured = measureFiles(files)
    const memoryBytes = Math.floor(0.9 * process.availableMemory())
    const bytes = measured.reduce((sum, file) => sum + file.bytes, 0)
    const device = this.#deviceLimits()
    const room = Math.min(memoryBytes, device?.memoryBytes ?? memoryBytes, device?.bufferBytes ?? memoryBytes)
    if (runner.pass_memory === undefined && MEMORY_PER_TEXT * bytes < room) return undefined
    const pool = openReaderPool({ ...options, dropZeros: true })
    try {
      const reader = pool.read({ files, format, epoch: 0, batchSize: 4096 })
      const growth = await sampleGrowth(reader, this.#groups, this.#sparse.length)
      const passBytes = runner.pass_memory === undefined ? undefined : sizeOf(runner.pass_memory)
      const mostPasses = countPieces(measured, kind)
      const limits = { passBytes, memoryBytes, mostPasses, device }
      const { passes, forecast } = planPasses(growth, this.params.tables, this.#devices, limits)
      this.context.emit(forecast)
      return passes
    } finally {
      await pool.close()
    }
  }

  /** Of the device that will train the rows; undefined where memory does. */
  #deviceLimits(): PassLimits['device'] {
    const device = openDevice(this.context.config.config.runner, processEnv(), () => undefined)
    const tables = { tables: this.params.handle.tables, count: this.#devices }
    if (rowsPlace(tables, device, this.model.optimizer.clip !== undefined).on === 'host') return undefined
    const { memoryBytes = Number.POSITIVE_INFINITY, maxBufferBytes = Number.POSITIVE_INFINITY } = device
    // Weights, what a step computes and what the driver keeps want room beside the rows.
    return { memoryBytes: Math.floor(0.8 * memoryBytes), bufferBytes: maxBufferBytes }
  }

  get #sparse(): readonly string[] {
    return this.model.slots.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
  }

  get #groups() {
    return slotTables(this.model.train, this.#sparse)
  }

  async #readerOptions(): Promise<ConstructorParameters<typeof PassReader>[0]> {
    const { emit, config: loaded } = this.context
    const { config } = loaded
    const { runner } = config
    const input = inputOf(config, 'train', this.files.train!)
    const { reader, format } = input
    const { parse_ins_id: parseInsId, parse_content: parseContent, seed } = runner
    const slots = await slotsInData(this.model.slots, this.files)
    const batchSize = runner.train_batch_size * this.#devices
    const threads = readerThreads(runner)
    return {
      dataset: { ...reader, slots, threads, format, batchSize, seed, parseInsId, parseContent },
      shuffle: shuffleOf(runner) !== undefined,
      passes: (await this.#plan({ ...reader, slots, threads: 1 }, inputKind(input), format)) ?? 1,
      counts: runner.pass_memory === undefined ? { tables: this.params.tables, devices: this.#devices } : undefined,
      epochs: this.context.rules.schedule?.epochs ?? runner.epochs,
      isReady: async (epoch) => (await this.context.rules.schedule?.isReady(epoch)) ?? true,
      filesOf: (epoch) => this.#filesOf(epoch),
      emit: (event) => {
        if (event.kind === 'forecast' && !event.estimated && !this.#isCounted) noticeTotal(event.samples, emit)
        emit(event)
      },
    }
  }
}

/** Read a piece at a time, text is held in memory once and parsed beside it; rows take less than that. */
const MEMORY_PER_TEXT = 4

/** One trainer thread a device, and all of them make one step together. */
function withTrainers(loaded: LoadedConfig, devices: number): LoadedConfig {
  const { config } = loaded
  return { ...loaded, config: { ...config, runner: { ...config.runner, thread_num: devices, thread_mode: 'sync' } } }
}

function goOn({ message, code, hint }: UserError, what: string): UserError {
  const advice = `Training stopped inside a pass: ${what}; the same command with --resume goes on from there.`
  return new UserError(message, { code, hint: hint === undefined ? advice : `${hint} ${advice}` })
}

function dynamic(): UserError {
  return new UserError('runner.sync_mode: gpubox trains a static graph, whose tables are known before a pass begins.', {
    code: 'GPUPS_DYGRAPH',
    hint: 'Leave out --mode dygraph, or train with sync_mode: async.',
  })
}
