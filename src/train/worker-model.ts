/** @file The model of a parameter-server job as a whole: loaded by worker 0 and given to the servers, gathered and saved after an epoch. */
import type { JobConfig } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import type { TracedModel } from '../model/index.ts'
import type { LocalParams } from '../params/index.ts'
import { programHash } from '../program/index.ts'
import { ADDING, gatherDigest, gatherParams, type PsMode, type ServerGroup, scatterParams } from '../ps/index.ts'
import { type CheckpointOptions, findStart, prepareSaving, saveEpoch } from './checkpoint.ts'
import type { PassResult } from './loop.ts'
import { createParams } from './runtime.ts'
import type { WorkerMode } from './worker-mode.ts'

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
}

export class WorkerModel {
  readonly #options: WorkerModelOptions
  /** Made when first needed: it takes the memory of the whole model. */
  #params: LocalParams | undefined

  constructor(options: WorkerModelOptions) {
    this.#options = options
  }

  /** Worker 0 loads what the job starts from; returns, on every worker, the first epoch. */
  async start(): Promise<number> {
    const { config, servers, strategy, rank } = this.#options
    let epoch = 0
    if (rank === 0) {
      await prepareSaving(config)
      const { model_init_path, last_epoch } = config.runner
      if (model_init_path !== undefined || last_epoch >= 0 || this.#options.resume) {
        const { position } = await findStart(this.#checkpoint())
        epoch = position.epoch
        await scatterParams(servers, strategy.slices, strategy.placement, this.#whole())
      }
    }
    const [first = 0] = await servers.meet('start', epoch)
    return first
  }

  /** Worker 0 saves what the servers hold; the others wait, so that nobody trains meanwhile. */
  async save(epoch: number, trained: PassResult): Promise<void> {
    const { config, servers, strategy, rank } = this.#options
    if (config.runner.model_save_path === '') return
    if (rank === 0) {
      await gatherParams(servers, strategy.slices, this.#whole())
      await saveEpoch(this.#checkpoint(), epoch, trained)
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

  #checkpoint(): CheckpointOptions {
    const { config, model, files, resume, emit } = this.#options
    return { config, params: this.#whole(), program: programHash(model.train), files, resume, emit }
  }
}
