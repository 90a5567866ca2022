/** @file The model of a parameter-server job as a whole: loaded by worker 0 and given to the servers, gathered and saved after an epoch. */
import type { JobConfig } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import type { TracedModel } from '../model/index.ts'
import type { LocalParams } from '../params/index.ts'
import { programHash } from '../program/index.ts'
import {
  ADDING,
  gatherCounts,
  gatherDigest,
  gatherTables,
  type PsMode,
  type ServerGroup,
  scatterRows,
  scatterTables,
  serverRows,
} from '../ps/index.ts'
import type { LoadOptions, RowSource, Rows } from '../snapshot/index.ts'
import { findStart, prepareSaving, saveEpoch, saveWeights } from './checkpoint.ts'
import { inferenceSaver } from './inference-model.ts'
import type { PassResult } from './loop.ts'
import { createParams, type DataFiles } from './runtime.ts'
import type { WorkerMode } from './worker-mode.ts'

/** What a job starts from and what it keeps. Worker 0 loads and saves; weights travel from and to the servers. */
export interface JobCheckpoints {
  /** Fails before anything is trained where nothing could be saved. */
  prepare(): Promise<void>
  /** Fills the weights; returns the first epoch. Undefined: the job starts from nothing. */
  readonly load: ((model: WholeModel) => Promise<number>) | undefined
  /** Asked on every worker, which must all answer alike. */
  saves(epoch: number): boolean
  save(model: WholeModel, epoch: number, trained: PassResult): Promise<void>
  /** Saves what a job that was stopped inside an epoch has learned; returns where. @default nothing is saved */
  saveInterrupted?(model: WholeModel, trained: PassResult): Promise<string | undefined>
  /** Rows pass through worker 0 block by block, from `rows` and to `storeRows`; `params` has none. @default false */
  readonly streams?: boolean
}

/** The model as worker 0 sees it. */
export interface WholeModel {
  readonly params: LocalParams
  readonly rows?: RowSource
  readonly storeRows?: LoadOptions['storeRows']
}

export interface WorkerModelOptions {
  readonly config: JobConfig
  readonly model: TracedModel
  readonly mode: PsMode
  readonly strategy: WorkerMode
  readonly servers: ServerGroup
  readonly rank: number
  readonly files: readonly string[]
  /** Of all phases, for the samples of an export. */
  readonly dataFiles: DataFiles
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
    const { servers, rank } = this.#options
    let epoch = 0
    if (rank === 0) {
      await this.#checkpoints.prepare()
      if (this.#checkpoints.load) {
        epoch = await this.#checkpoints.load({
          params: this.#whole(),
          ...(this.#checkpoints.streams && { storeRows: this.#storeRows }),
        })
        await this.#scatter()
      }
    }
    const [first = 0] = await servers.meet('start', epoch)
    await this.#options.strategy.dense.spread()
    return first
  }

  /** Worker 0 saves what the servers hold; the others wait, so that nobody trains meanwhile. */
  async save(epoch: number, trained: PassResult): Promise<void> {
    const { servers, rank } = this.#options
    if (!this.#checkpoints.saves(epoch)) return
    if (rank === 0) await this.#checkpoints.save(await this.#gather(), epoch, trained)
    await servers.meet(`saving of epoch ${epoch}`, null)
  }

  /** The same for a job that was stopped inside an epoch; returns where it is, on every worker. */
  async saveInterrupted(trained: PassResult): Promise<string | undefined> {
    const { servers, rank } = this.#options
    const { saveInterrupted } = this.#checkpoints
    const path = rank === 0 && saveInterrupted ? await saveInterrupted(await this.#gather(), trained) : undefined
    const [saved] = await servers.meet('saving what was learned', path ?? null)
    return saved ?? undefined
  }

  /** What the servers hold: all of it, or dense weights and a way to the rows. */
  async #gather(): Promise<WholeModel> {
    const { servers, strategy } = this.#options
    const params = this.#whole()
    const { bytes, steps } = await strategy.dense.read()
    params.dense.bytes().set(bytes)
    params.dense.restoreSteps(steps)
    if (!this.#checkpoints.streams) {
      await gatherTables(servers, params)
      return { params }
    }
    const ranks = Array.from({ length: servers.size }, (_, server) => server)
    const parts = (table: number) => ranks.map((server) => serverRows(servers, server, table))
    return { params, rows: { counts: await gatherCounts(servers), parts } }
  }

  async #scatter(): Promise<void> {
    const { servers, strategy } = this.#options
    const params = this.#whole()
    const { dense } = params
    await strategy.dense.write({ bytes: dense.bytes().slice(), steps: dense.steps })
    if (!this.#checkpoints.streams) await scatterTables(servers, strategy.placement, params)
  }

  /** Rows of a checkpoint go to the servers that own them. */
  readonly #storeRows = async (table: number, { signs, rows }: Rows): Promise<void> => {
    const { servers, strategy } = this.#options
    await scatterRows(servers, strategy.placement, table, { signs, rows })
  }

  /** SHA-256 over the whole model. */
  async digest(): Promise<string> {
    const { model, servers, strategy } = this.#options
    const names = model.train.tables.map(({ name }) => name)
    return gatherDigest(servers, await strategy.dense.read(), names)
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
function checkpointsOf({ config, model, files, dataFiles, resume, emit }: WorkerModelOptions): JobCheckpoints {
  const { model_init_path, warmup_model_path, model_save_path, last_epoch, use_inference } = config.runner
  const of = (whole: WholeModel) => ({ config, ...whole, program: programHash(model.train), files, resume, emit })
  const starts = model_init_path !== undefined || warmup_model_path !== undefined || last_epoch >= 0 || resume
  return {
    // An export is scored before it is written, which takes the whole model.
    streams: !use_inference,
    prepare: () => prepareSaving(config),
    load: starts ? async (whole) => (await findStart(of(whole))).position.epoch : undefined,
    saves: () => model_save_path !== '',
    save: async (whole, epoch, trained) => {
      await saveEpoch(of(whole), epoch, trained)
      await inferenceSaver(config, model, whole.params, dataFiles, emit)?.(epoch)
    },
    saveInterrupted: (whole, trained) => saveWeights(of(whole), trained),
  }
}
