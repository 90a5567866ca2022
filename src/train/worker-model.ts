/** @file The model of a parameter-server job as a whole: loaded by worker 0 and given to the servers, gathered and saved after an epoch. */
import type { JobConfig } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import type { TracedModel } from '../model/index.ts'
import type { LocalParams } from '../params/index.ts'
import { programHash } from '../program/index.ts'
import { ADDING, gatherDigest, gatherParams, type PsMode, type ServerGroup, scatterParams } from '../ps/index.ts'
import { findStart, prepareSaving, saveEpoch } from './checkpoint.ts'
import type { PassResult } from './loop.ts'
import { createParams } from './runtime.ts'
import type { WorkerMode } from './worker-mode.ts'

/** What a job starts from and what it keeps. Worker 0 loads and saves: the weights it is given travel to and from the servers. */
export interface JobCheckpoints {
  /** Fails before anything is trained where nothing could be saved. */
  prepare(): Promise<void>
  /** Fills the weights; returns the first epoch. Undefined: the job starts from nothing. */
  readonly load: ((params: LocalParams) => Promise<number>) | undefined
  /** Asked on every worker, which must all answer alike. */
  saves(epoch: number): boolean
  save(params: LocalParams, epoch: number, trained: PassResult): Promise<void>
}

export interface WorkerModelOptions {
  readonly config: JobConfig
  readonly model: TracedModel
  readonly mode: PsMode
  readonly strategy: WorkerMode
  readonly servers: ServerGroup
  readonly rank: number
  readonly files: readonly string[]
  readonly resume: boolean
  readonly emit: EventSink
  /** @default by model_init_path, last_epoch and model_save_path */
  readonly checkpoints?: JobCheckpoints | undefined
}

export class WorkerModel {
  readonly #options: WorkerModelOptions
  readonly #checkpoints: JobCheckpoints
  /** Made when first needed: it takes the memory of the whole model. */
  #params: LocalParams | undefined

  constructor(options: WorkerModelOptions) {
    this.#options = options
    this.#checkpoints = options.checkpoints ?? checkpointsOf(options)
  }

  /** Worker 0 loads what the job starts from; returns, on every worker, the first epoch. */
  async start(): Promise<number> {
    const { servers, strategy, rank } = this.#options
    let epoch = 0
    if (rank === 0) {
      await this.#checkpoints.prepare()
      if (this.#checkpoints.load) {
        epoch = await this.#checkpoints.load(this.#whole())
        await scatterParams(servers, strategy.slices, strategy.placement, this.#whole())
      }
    }
    const [first = 0] = await servers.meet('start', epoch)
    return first
  }

  /** Worker 0 saves what the servers hold; the others wait, so that nobody trains meanwhile. */
  async save(epoch: number, trained: PassResult): Promise<void> {
    const { servers, strategy, rank } = this.#options
    if (!this.#checkpoints.saves(epoch)) return
    if (rank === 0) {
      await gatherParams(servers, strategy.slices, this.#whole())
      await this.#checkpoints.save(this.#whole(), epoch, trained)
    }
    await servers.meet(`saving of epoch ${epoch}`, null)
  }

  /** SHA-256 over what the servers hold. */
  digest(): Promise<string> {
    const { model, servers, strategy } = this.#options
    return gatherDigest(
      servers,
      strategy.slices,
      model.train.tables.map(({ name }) => name),
    )
  }

  #whole(): LocalParams {
    const { config, model, mode } = this.#options
    // Geo's servers hold weights only: the optimizers' state lives with each worker.
    const rules = mode === 'geo' ? { optimizer: ADDING, tableOptimizers: {} } : model
    this.#params ??= createParams(config, model, rules, 0)
    return this.#params
  }
}

/** PaddleRec 2.x's keys. */
function checkpointsOf({ config, model, files, resume, emit }: WorkerModelOptions): JobCheckpoints {
  const { model_init_path, model_save_path, last_epoch } = config.runner
  const of = (params: LocalParams) => ({ config, params, program: programHash(model.train), files, resume, emit })
  const starts = model_init_path !== undefined || last_epoch >= 0 || resume
  return {
    prepare: () => prepareSaving(config),
    load: starts ? async (params) => (await findStart(of(params))).position.epoch : undefined,
    saves: () => model_save_path !== '',
    save: async (params, epoch, trained) => void (await saveEpoch(of(params), epoch, trained)),
  }
}
