/** @file A worker of a job with parameter servers: the steps are those of training alone, over weights that live on servers. */

import { isWritten, type JobConfig } from '../../base/config/index.ts'
import type { Cluster } from '../../base/env/index.ts'
import type { Reader } from '../../base/net/index.ts'
import { shown } from '../../base/util/index.ts'
import { loadModelAs } from '../../model/index.ts'
import { denseLayout, namedWeights } from '../../weights/params/index.ts'
import { type EpochsFile, inputChanged, markInput, type WorkerPlace } from '../../weights/snapshot/index.ts'
import type { Group } from '../collective/index.ts'
import {
  batchesInStep,
  isHybrid,
  largeStepText,
  psMode,
  runsOfPlaces,
  scaledModel,
  warnOfToken,
  withRunner,
} from '../ps/index.ts'
import { beginningOf, checkData, findDataFiles, inputOf, type PassResult, type Phase } from '../threads/index.ts'
import { noticeInterrupted, saveWeights } from './checkpoint.ts'
import { cutSchedule } from './cuts.ts'
import { readModels, readNothing, readOutcome } from './gathered.ts'
import {
  type Agree,
  CUTS_TOGETHER,
  type EvaluationJob,
  epochFiles,
  type JobContext,
  type JobCuts,
  type ReadDense,
  readersOf,
  type SavedInside,
  type SavedModel,
  type TrainingContext,
  type TrainingJob,
  type TrainingStart,
} from './job.ts'
import { configCheckpoints } from './job-checkpoints.ts'
import { chunksIn, epochAnew, isDealt, placed, resizedText } from './places.ts'
import { noticeAlone } from './recall-metrics.ts'
import { agreeOnInput } from './worker-input.ts'
import { type ServersOptions, WorkerJob } from './worker-job.ts'
import { hybridMode, openWorkerMode, openWorkers } from './worker-mode.ts'
import { byFirst, giveModel, WorkerModel } from './worker-model.ts'

/** Trains as a worker of `cluster`. Rejects, naming it, when a process of the job is gone. */
export function withServers(options: ServersOptions): (context: TrainingContext) => TrainingJob {
  return (context) => {
    noticeAlone(context.config.config, context.emit)
    return new Training(options, context)
  }
}

/** Evaluates as a worker: worker 0 loads each model and gives it to the servers, all evaluate their part of the data. */
export function evaluateWithServers(options: ServersOptions): (context: JobContext) => EvaluationJob {
  return (context) => {
    noticeAlone(context.config.config, context.emit)
    return new Evaluation(options, context)
  }
}

class Training extends WorkerJob<TrainingContext> implements TrainingJob {
  #whole: WorkerModel | undefined
  /** Hybrid: rows are on servers, dense weights are stepped by the workers together. */
  #workers: Group | undefined
  /** So many were made. */
  #agreements = 0

  constructor(options: ServersOptions, context: TrainingContext) {
    const { config } = context.config
    // Dense weights that workers step together are each worker's own, of one thread.
    super(options, context, isHybrid(config) ? 1 : config.runner.thread_num)
  }

  async prepare(): Promise<void> {
    const { config: loaded, mode, rules } = this.context
    const { cluster } = this
    const { config } = loaded
    if (!config.dataset && !isWritten(loaded.source, ['runner', 'sync_mode']))
      this.#notice(`runner.sync_mode is not set: ${psMode(config)} is used`)
    warnOfToken(cluster, this.context.emit)
    const batches = batchesInStep(cluster, config)
    this.model = scaledModel(await loadModelAs(mode, loaded), config, batches)
    if (batches > 1 && cluster.rank === 0) this.#notice(largeStepText(whoSteps(cluster, config), config, batches))
    rules.onModel?.(this.model)
  }

  async join(): Promise<void> {
    const { emit, rules } = this.context
    const { config } = this.context.config
    const { cluster } = this
    await this.connect()
    if (isHybrid(config))
      this.#workers = await openWorkers(withRunner(cluster, config), config.runner.thread_num, (message) =>
        this.#notice(message),
      )
    this.files =
      (await rules.schedule?.find(this.agree)) ?? rules.files ?? (await findDataFiles(config, ['train', 'infer']))
    this.input = await agreeOnInput({ servers: this.servers, cluster, config, files: this.files, emit })
    this.uncounted = !this.input.isCounted
  }

  async load(): Promise<TrainingStart> {
    const { config } = this.context.config
    this.mode = this.#workers
      ? hybridMode(this.modeOptions, this.#workers, this.cluster.rank)
      : openWorkerMode(psMode(config), this.modeOptions)
    const { model, mode, servers, context } = this
    const checkpoints =
      context.rules.checkpoints ??
      configCheckpoints(context, model, this.files, saveWeights, { id: this.cluster.jobId })
    const { emit } = context
    const { rank } = this.cluster
    const makesCuts = this.cuts !== undefined && cutSchedule(config.runner.snapshot_interval, this.cuts) !== undefined
    this.#whole = new WorkerModel({ config, model, mode, servers, rank, checkpoints, makesCuts, emit })
    const start = await this.#whole.start()
    await mode.begin()
    return this.#placed(start)
  }

  /** Inside an epoch, where this worker was, or what it is given of what the others have not read: from the same files, in the same way. */
  #placed(start: TrainingStart): TrainingStart {
    const { workers: places, meter } = start
    if (!places) return start
    const { rank: index, workerNum: count } = this.cluster
    const { config } = this.context.config
    const files = this.files.train!
    const input = inputOf(config, 'train', files)
    const chunks = chunksIn(files, input)
    const claims = this.input.train !== undefined && this.mode.takesOver
    const canResize = isDealt(input) && (this.input.train !== undefined || count === 1)
    const now = placed(places, { count, chunks, claims, canResize })
    if (!now) {
      this.context.emit({ kind: 'warning', message: epochAnew(start.position.epoch, places.length, 'workers') })
      return { ...beginningOf(start.position.epoch), history: start.history }
    }
    const { position, input: mark } = now[index]!
    if (JSON.stringify(mark) !== JSON.stringify(markInput(files)))
      throw inputChanged('the cut that the job goes on from')
    if (now !== places && index === 0) this.#notice(resizedText(places.length, count, 'workers', position.epoch))
    this.restored = now
    return { ...start, position, meter: meter && { ...meter, batches: position.batch } }
  }

  get cuts(): JobCuts | undefined {
    const { runner } = this.context.config.config
    if (runner.model_save_path === '' || runner.global_shuffle || this.context.rules.checkpoints) return undefined
    const inStep = this.#workers !== undefined || psMode(this.context.config.config) === 'sync'
    return {
      inStep,
      byDefault: CUTS_TOGETHER,
      threads: this.role.threads,
      save: (trained) => this.#whole!.saveCut(trained, this.#place(trained)),
    }
  }

  /** Where this worker is; samples that it has taken and not trained are among those it reads again. */
  #place({ position }: PassResult): WorkerPlace {
    const { claimed, begun } = this.lastPass ?? {}
    return {
      position,
      input: markInput(this.files.train!),
      ...(claimed ? { claimed: runsOfPlaces(claimed) } : {}),
      ...(begun ? { begun: [...begun] } : {}),
    }
  }

  async open(): Promise<void> {
    await this.openRuntime(true, readersOf(this.context))
  }

  protected override filesOf(phase: Phase, epoch: number): readonly string[] | undefined {
    return epochFiles(this.context.rules, phase, epoch)
  }

  readonly agree: Agree = (work, read) =>
    byFirst(
      this.cluster.rank,
      (outcome) => this.servers.allGatherJson(`agreement ${this.#agreements++}`, outcome, { read: readOutcome(read) }),
      work,
    )

  prefetch(epoch: number): void {
    this.runtime!.prefetch(epoch, { files: this.filesOf('train', epoch), part: this.input.train })
  }

  get evaluates(): boolean {
    return this.files.infer !== undefined
  }

  save(epoch: number, trained: PassResult): Promise<string | undefined> {
    return this.#whole!.save(epoch, trained)
  }

  note(epochs: EpochsFile): Promise<void> {
    return this.#whole!.note(epochs)
  }

  async saveInterrupted(trained: PassResult): Promise<SavedInside> {
    const { runner } = this.context.config.config
    const isPlaced = !runner.global_shuffle && !this.context.rules.checkpoints && runner.model_save_path !== ''
    const path = await this.#whole!.saveInterrupted(trained, isPlaced ? this.#place(trained) : undefined)
    return { path, notice: isPlaced ? undefined : noticeInterrupted(trained.position.epoch, path) }
  }

  async readDense(): Promise<ReadDense> {
    const { bytes, steps } = await this.mode.dense.read()
    const layout = denseLayout(this.model.train, this.model.optimizer)
    return { weights: namedWeights(layout, new Float32Array(bytes.slice().buffer, 0, layout.floats)), steps }
  }

  /** Worker 0 computes it over what the servers hold. */
  async digest(): Promise<string | undefined> {
    return this.cluster.rank === 0 ? this.#whole!.digest() : undefined
  }

  override async close(): Promise<void> {
    await super.close()
    await this.#whole?.close()
  }

  override async finish(): Promise<void> {
    await super.finish()
    await this.#workers?.close()
  }

  override async abort(error: Error): Promise<void> {
    await super.abort(error)
    // Threads that wait for other workers end with their group.
    await this.#workers?.close(error).catch(() => undefined)
  }

  #notice(message: string): void {
    this.context.emit({ kind: 'notice', message })
  }
}

class Evaluation extends WorkerJob<JobContext> implements EvaluationJob {
  constructor(options: ServersOptions, context: JobContext) {
    super(options, context, context.config.config.runner.infer_thread_num)
  }

  async prepare(): Promise<void> {
    const { config: loaded, mode } = this.context
    const { config } = loaded
    this.model = scaledModel(await loadModelAs(mode, loaded), config, batchesInStep(this.cluster, config))
  }

  async join(): Promise<void> {
    const { config: loaded, emit } = this.context
    const { config } = loaded
    await this.connect()
    this.files = await findDataFiles(config, ['infer'])
    await checkData(loaded, this.model, this.files)
    const { servers, cluster, files } = this
    this.input = await agreeOnInput({ servers, cluster, config, files, emit })
    this.mode = openWorkerMode(psMode(config), this.modeOptions)
    await this.openRuntime(false)
  }

  choose(find: () => Promise<readonly SavedModel[]>): Promise<readonly SavedModel[]> {
    return this.#byFirst('choosing models', find, readModels)
  }

  async load(saved: SavedModel): Promise<void> {
    const { config, emit } = this.context
    const { model, mode, servers } = this
    const load = () => giveModel(saved, { config: config.config, model, mode, servers }, emit)
    await this.#byFirst(`loading of epoch ${saved.epoch}`, load, readNothing)
    emit({ kind: 'loaded', path: shown(saved.folder), epoch: saved.epoch })
  }

  isStopped(): boolean {
    return false
  }

  #byFirst<T>(name: string, work: () => Promise<T>, read: Reader<T>): Promise<T> {
    return byFirst(
      this.cluster.rank,
      (outcome) => this.servers.allGatherJson(name, outcome, { read: readOutcome(read) }),
      work,
    )
  }
}

/** `4 workers`, `4 workers of 2 threads`. */
function whoSteps({ workerNum }: Cluster, { runner: { thread_num: threads } }: JobConfig): string {
  const workers = workerNum === 1 ? '1 worker' : `${workerNum} workers`
  return threads === 1 ? workers : `${workers} of ${threads} threads`
}
