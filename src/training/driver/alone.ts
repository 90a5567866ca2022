/** @file A job of one process: weights, readers and threads are its own, and there is nobody to agree with. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { JobConfig } from '../../base/config/index.ts'
import { shown } from '../../base/util/index.ts'
import { loadModelAs, type TracedModel } from '../../model/index.ts'
import {
  isPaddleFolder,
  type LocalParams,
  loadPaddleModel,
  namedWeights,
  openTiers,
  tierFolder,
} from '../../weights/params/index.ts'
import {
  type EpochsFile,
  loadSnapshot,
  type Manifest,
  openSnapshot,
  type Snapshot,
} from '../../weights/snapshot/index.ts'
import {
  beginningOf,
  checkData,
  createParams,
  type DataFiles,
  findDataFiles,
  type PassHooks,
  type PassOptions,
  type PassResult,
  type PassStart,
  type Phase,
  RowTiers,
  Runtime,
} from '../threads/index.ts'
import { forgetChanges, rowsHere } from './changed-rows.ts'
import { optimizersOf, saveInterrupted } from './checkpoint.ts'
import {
  type Agree,
  type EvaluationJob,
  epochFiles,
  type JobContext,
  type JobCuts,
  type ReadDense,
  readersOf,
  runtimeOptions,
  type SavedInside,
  type SavedModel,
  type TrainingContext,
  type TrainingJob,
  type TrainingStart,
} from './job.ts'
import { configCheckpoints, type JobCheckpoints } from './job-checkpoints.ts'
import { epochAnew } from './places.ts'
import { checkRecall, recallHooks } from './recall-metrics.ts'

/** After so many a copy is taken as it is: some weights are of the step under way. */
const MOST_TRIES = 1000

export function alone(context: TrainingContext): TrainingJob {
  return new LocalTraining(context)
}

export function evaluateAlone(context: JobContext): EvaluationJob {
  return new LocalEvaluation(context)
}

/** All weights in this process; ranks train so too, each step together. */
export class LocalTraining implements TrainingJob {
  protected readonly context: TrainingContext
  protected files!: DataFiles
  protected model!: TracedModel
  protected params!: LocalParams
  protected runtime: Runtime | undefined
  /** Tables with a memory limit. */
  protected tiers: RowTiers | undefined
  #checkpoints: JobCheckpoints | undefined

  constructor(context: TrainingContext) {
    this.context = context
  }

  /** `strategy` is given to the model's createOptimizer. */
  async prepare(strategy?: unknown): Promise<void> {
    const { config, mode, rules } = this.context
    this.files =
      (await rules.schedule?.find(this.agree)) ??
      rules.files ??
      (await findDataFiles(config.config, ['train', 'infer']))
    this.model = await loadModelAs(mode, config, strategy)
    rules.onModel?.(this.model)
    checkRecall(config.config, this.model)
    await checkData(config, this.model, this.files)
  }

  async load(): Promise<TrainingStart> {
    const { config, rules } = this.context
    this.#checkpoints = rules.checkpoints ?? configCheckpoints(this.context, this.model, this.files, saveInterrupted)
    const checkpoints = this.#checkpoints
    await checkpoints.prepare()
    this.params = createParams(config.config, this.model, this.model, config.config.runner.thread_num)
    this.tiers = tiersOf(config.config, this.params, this.model)
    const start: TrainingStart = (await checkpoints.load?.({ params: this.params })) ?? beginningOf(0)
    await forgetChanges(this.params)
    await checkpoints.started?.({ params: this.params })
    const many = start.ranks ?? start.workers
    if (!many) return start
    const { epoch } = start.position
    this.context.emit({ kind: 'warning', message: epochAnew(epoch, many.length, start.ranks ? 'ranks' : 'workers') })
    return { ...beginningOf(epoch), history: start.history, from: start.from }
  }

  async open(): Promise<void> {
    const [model, files] = [this.model, this.files]
    const { tiers } = this
    const trainers = { params: this.params.handle, threads: this.context.config.config.runner.thread_num, tiers }
    const input = readersOf(this.context)
    this.runtime = await Runtime.open({ ...runtimeOptions(this.context), model, files, trainers, input })
  }

  pass(phase: Phase, epoch: number, from?: PassStart, pauses?: PassOptions['pauses']): Promise<PassResult> {
    const input = { files: epochFiles(this.context.rules, phase, epoch) }
    return this.runtime!.pass(phase, epoch, { from, input, pauses, hooks: this.#hooks(phase) })
  }

  #hooks(phase: Phase): PassHooks | undefined {
    const { config, emit } = this.context
    const { model, params, tiers } = this
    const files = this.files.infer
    if (phase !== 'infer' || !files) return undefined
    return recallHooks({ config: config.config, model, params, files, tiered: tiers !== undefined, emit })
  }

  readonly agree: Agree = (work) => work()

  prefetch(epoch: number): void {
    this.runtime!.prefetch(epoch, { files: epochFiles(this.context.rules, 'train', epoch) })
  }

  get cuts(): JobCuts | undefined {
    const begin = this.#checkpoints?.beginCut
    if (!begin || this.context.config.config.runner.model_save_path === '') return undefined
    const { params } = this
    return { inStep: false, save: (trained) => begin({ params, ...rowsHere(params) }, trained) }
  }

  get evaluates(): boolean {
    return this.files.infer !== undefined
  }

  async save(epoch: number, trained: PassResult): Promise<string | undefined> {
    if (!this.#checkpoints?.saves(epoch)) return undefined
    const { params } = this
    return this.#checkpoints.save({ params, forgetChanges: () => forgetChanges(params) }, epoch, trained)
  }

  async note(epochs: EpochsFile): Promise<void> {
    await this.#checkpoints?.note?.(epochs)
  }

  async saveInterrupted(trained: PassResult): Promise<SavedInside> {
    return { path: await this.#checkpoints?.saveInterrupted?.({ params: this.params }, trained) }
  }

  async readDense(): Promise<ReadDense> {
    const { dense } = this.params
    const weights = new Float32Array(dense.layout.floats)
    // Steps that threads make together are long beside a copy: in time one falls between two of them.
    for (let tries = 0; !dense.pullWhole(weights) && tries < MOST_TRIES; tries++) await sleep(1)
    return { weights: namedWeights(dense.layout, weights), steps: dense.steps }
  }

  async digest(): Promise<string> {
    return this.params.digest()
  }

  async close(): Promise<void> {
    await this.runtime?.close()
    await this.#checkpoints?.close?.()
    await this.tiers?.close()
  }
}

/** Keeps one table and one set of threads for all models: each is loaded over the one before, whose rows it mostly shares. */
export class LocalEvaluation implements EvaluationJob {
  protected readonly context: JobContext
  protected files!: DataFiles
  protected model!: TracedModel
  #params: LocalParams | undefined
  #tiers: RowTiers | undefined
  #runtime: Runtime | undefined

  constructor(context: JobContext) {
    this.context = context
  }

  async prepare(): Promise<void> {
    const { config, mode } = this.context
    this.files = await findDataFiles(config.config, ['infer'])
    this.model = await loadModelAs(mode, config)
    checkRecall(config.config, this.model)
    await checkData(config, this.model, this.files)
  }

  choose(find: () => Promise<readonly SavedModel[]>): Promise<readonly SavedModel[]> {
    return find()
  }

  async load({ epoch, folder, key }: SavedModel): Promise<void> {
    const { config, emit } = this.context
    const isPaddle = await isPaddleFolder(folder)
    const params = isPaddle ? await this.#read(folder) : await this.#fill(await openSnapshot(folder, key))
    emit({ kind: 'loaded', path: shown(folder), epoch })
    const { model, files } = this
    const trainers = { params: params.handle, threads: config.config.runner.infer_thread_num, tiers: this.#tiers }
    this.#runtime ??= await Runtime.open({ ...runtimeOptions(this.context), model, files, trainers })
  }

  /** That of the model loaded last. */
  protected get runtime(): Runtime {
    return this.#runtime!
  }

  pass(phase: Phase, epoch: number): Promise<PassResult> {
    const { config, emit } = this.context
    const { model } = this
    const own = { params: this.#params!, files: this.files.infer!, tiered: this.#tiers !== undefined }
    return this.runtime.pass(phase, epoch, { hooks: recallHooks({ config: config.config, model, ...own, emit }) })
  }

  isStopped(): boolean {
    return this.context.stop.signal.aborted
  }

  async close(): Promise<void> {
    await this.#runtime?.close()
    await this.#tiers?.close()
    this.#runtime = undefined
    this.#tiers = undefined
    this.#params = undefined
  }

  /** Out of Paddle's table files, into parameters that are new: rows of another epoch would stay. */
  async #read(folder: string): Promise<LocalParams> {
    await this.close()
    this.#params = this.#create(this.model)
    await loadPaddleModel(this.#params, { folder })
    return this.#params
  }

  /** Parameters with the optimizers of the checkpoint, since rows carry their state; anew when other rows would be left over. */
  async #fill(snapshot: Snapshot): Promise<LocalParams> {
    const { emit } = this.context
    const { manifest } = snapshot
    if (this.#params && !sameOptimizers(this.#params, manifest)) await this.close()
    const isNew = this.#params === undefined
    this.#params ??= this.#create(optimizersOf(manifest))
    await loadSnapshot({ snapshot, params: this.#params, emit })
    const leftOver = this.#params.tables.some(
      ({ name, rowCount }) => rowCount !== manifest.tables.find((table) => table.name === name)?.rows,
    )
    // With a memory_limit new ones may hold fewer rows than were saved.
    if (isNew || !leftOver) return this.#params
    await this.close()
    return this.#fill(snapshot)
  }

  #create(optimizers: ReturnType<typeof optimizersOf>): LocalParams {
    const { config } = this.context.config
    const params = createParams(config, this.model, optimizers, config.runner.infer_thread_num)
    this.#tiers = tiersOf(config, params, this.model)
    return params
  }
}

/** Their files lie where checkpoints are saved, unless the configuration says otherwise. */
function tiersOf({ runner, table_parameters: parameters }: JobConfig, params: LocalParams, model: TracedModel) {
  const tiers = openTiers({ tables: params.tables, parameters, folder: tierFolder(runner), ahead: true })
  return RowTiers.of(params, tiers, model)
}

function sameOptimizers({ handle }: LocalParams, manifest: Manifest): boolean {
  const { optimizer, tableOptimizers } = optimizersOf(manifest)
  const here = [handle.dense.optimizer, ...handle.tables.map((table) => table.optimizer)]
  const there = [optimizer, ...handle.tables.map(({ name }) => tableOptimizers[name])]
  return JSON.stringify(here) === JSON.stringify(there)
}
