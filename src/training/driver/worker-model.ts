/** @file The model of a parameter-server job as a whole: loaded by worker 0 and given to the servers, gathered and saved after an epoch. */
import type { JobConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { fromPlainError, type PlainError, toPlainError } from '../../base/util/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { isPaddleFolder, type LocalParams, loadPaddleModel } from '../../weights/params/index.ts'
import {
  type EpochsFile,
  loadSnapshot,
  openSnapshot,
  type Rows,
  type WorkerPlace,
} from '../../weights/snapshot/index.ts'
import {
  gatherCounts,
  gatherDigest,
  gatherTables,
  METHODS,
  type ServerGroup,
  scatterParams,
  scatterRows,
  scatterTables,
  serverRows,
} from '../ps/index.ts'
import { beginningOf, createParams, type PassResult, type PassStart } from '../threads/index.ts'
import type { WholeModel } from './checkpoint.ts'
import type { SavedModel, TrainingStart } from './job.ts'
import type { JobCheckpoints } from './job-checkpoints.ts'
import type { WorkerMode } from './worker-mode.ts'

/** A model on servers. */
export interface ServedModel {
  readonly config: JobConfig
  readonly model: TracedModel
  readonly mode: WorkerMode
  readonly servers: ServerGroup
}

/** What worker 0 has found, as JSON: where all begin. */
interface SharedStart extends Pick<TrainingStart, 'history' | 'workers' | 'before'> {
  readonly epoch: number
}

export interface WorkerModelOptions extends ServedModel {
  readonly rank: number
  readonly checkpoints: JobCheckpoints
}

export class WorkerModel {
  readonly #options: WorkerModelOptions
  /** Made when first needed: it takes the memory of the whole model. */
  #params: LocalParams | undefined
  /** So many were made. */
  #cuts = 0

  constructor(options: WorkerModelOptions) {
    this.#options = options
  }

  /** Worker 0 loads what the job starts from; returns, on every worker, where it begins. */
  async start(): Promise<TrainingStart> {
    const { servers, rank, mode, checkpoints } = this.#options
    let own: SharedStart = { epoch: 0 }
    let meter: PassStart['meter']
    if (rank === 0) {
      await checkpoints.prepare()
      if (checkpoints.load) {
        const storeRows = checkpoints.streams ? this.#storeRows : undefined
        const start = await checkpoints.load({ params: this.#whole(), storeRows })
        const { position, history, workers, before } = start
        meter = start.meter
        const counts = before && { ...before, sums: {}, histograms: {}, groups: undefined }
        own = { epoch: position.epoch, history, workers, before: counts }
        await this.#scatter()
      }
    }
    const [first = own] = await servers.allGatherJson('start', own)
    await mode.dense.spread()
    const { epoch, history, workers, before } = first
    const position = workers ? workers[rank]!.position : beginningOf(epoch).position
    return { position, history, workers, before, meter: workers && meter }
  }

  /** Worker 0 saves what the servers hold; the others wait, so that nobody trains meanwhile. Returns where it is, on every worker. */
  async save(epoch: number, trained: PassResult): Promise<string | undefined> {
    const { rank, checkpoints } = this.#options
    if (!checkpoints.saves(epoch)) return undefined
    const path = rank === 0 ? await checkpoints.save(await this.#gather(), epoch, trained) : undefined
    return this.#everywhere(`saving of epoch ${epoch}`, path)
  }

  async note(epochs: EpochsFile): Promise<void> {
    const { rank, checkpoints } = this.#options
    if (rank === 0) await checkpoints.note?.(epochs)
  }

  /** The same for a job that was stopped inside an epoch. */
  async saveInterrupted(trained: PassResult, place: WorkerPlace | undefined): Promise<string | undefined> {
    const { rank, servers, checkpoints } = this.#options
    const places = place && (await servers.allGatherJson('places in the data', place))
    const path = rank === 0 ? await checkpoints.saveInterrupted?.(await this.#gather(), trained, places) : undefined
    return this.#everywhere('saving what was learned', path)
  }

  /** The job inside an epoch, where all workers have paused: each brings its place. */
  async saveCut(trained: PassResult, place: WorkerPlace): Promise<void> {
    const { rank, servers, checkpoints } = this.#options
    const { epoch, batch } = trained.position
    const places = await servers.allGatherJson(`a cut of epoch ${epoch}, part ${this.#cuts++}`, place)
    if (rank === 0) await checkpoints.saveCut!(await this.#gather(), trained, places)
    await servers.allGatherJson(`a cut of epoch ${epoch} is saved, part ${this.#cuts}`, batch)
  }

  /** Nothing more is saved. */
  close(): void {
    this.#options.checkpoints.close?.()
  }

  async #everywhere(name: string, path: string | undefined): Promise<string | undefined> {
    const [saved] = await this.#options.servers.allGatherJson(name, path ?? null)
    return saved ?? undefined
  }

  /** What the servers hold: all of it, or dense weights and a way to the rows. */
  async #gather(): Promise<WholeModel> {
    const { servers, mode } = this.#options
    const params = this.#whole()
    const { bytes, steps } = await mode.dense.read()
    params.dense.bytes().set(bytes)
    params.dense.restoreSteps(steps)
    if (!this.#options.checkpoints.streams) {
      await gatherTables(servers, params)
      return { params }
    }
    const ranks = Array.from({ length: servers.size }, (_, server) => server)
    const parts = (table: number) => ranks.map((server) => serverRows(servers, server, table))
    return { params, rows: { counts: await gatherCounts(servers), parts } }
  }

  async #scatter(): Promise<void> {
    const { servers, mode } = this.#options
    const params = this.#whole()
    const { dense } = params
    await mode.dense.write({ bytes: dense.bytes().slice(), steps: dense.steps })
    if (!this.#options.checkpoints.streams) await scatterTables(servers, mode.placement, params)
  }

  /** Rows of a checkpoint go to the servers that own them. */
  readonly #storeRows = async (table: number, { signs, rows }: Rows): Promise<void> => {
    const { servers, mode } = this.#options
    await scatterRows(servers, mode.placement, table, { signs, rows })
  }

  /** SHA-256 over the whole model. */
  async digest(): Promise<string> {
    const { model, servers, mode } = this.#options
    const names = model.train.tables.map(({ name }) => name)
    return gatherDigest(servers, await mode.dense.read(), names)
  }

  #whole(): LocalParams {
    const { config, model, mode } = this.#options
    this.#params ??= createParams(config, model, mode.serverRules, 0)
    return this.#params
  }
}

/** Loads a saved model and gives it to the servers, which forget the one before: its rows would count where this one has none. */
export async function giveModel(saved: SavedModel, served: ServedModel, emit: EventSink): Promise<void> {
  const { config, model, mode, servers } = served
  const params = createParams(config, model, mode.serverRules, 0)
  const { folder, key } = saved
  if (await isPaddleFolder(folder)) await loadPaddleModel(params, { folder })
  else await loadSnapshot({ snapshot: await openSnapshot(folder, key), params, emit, otherOptimizer: 'weights' })
  await servers.requestAll(METHODS.reset, [], 'reset()')
  await scatterParams(servers, mode.slices, mode.placement, params)
}

/** What worker 0 does for all: its result, or its failure, is everyone's. `share` brings an outcome to all workers. */
export async function byFirst<T>(
  rank: number,
  share: (own: Outcome<T> | null) => Promise<readonly (Outcome<T> | null)[]>,
  work: () => Promise<T>,
): Promise<T> {
  let own: Outcome<T> | null = null
  let failure: unknown
  if (rank === 0) {
    try {
      own = { value: await work() }
    } catch (error) {
      failure = error
      own = { error: toPlainError(error) }
    }
  }
  const [outcome] = await share(own)
  if (failure !== undefined) throw failure
  if (outcome?.error) throw fromPlainError(outcome.error)
  return outcome!.value!
}

/** JSON. */
export interface Outcome<T> {
  readonly value?: T
  readonly error?: PlainError
}
