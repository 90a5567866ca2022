/** @file The model of a parameter-server job as a whole: loaded by worker 0 and given to the servers, gathered and saved after an epoch. */
import type { JobConfig } from '../../base/config/index.ts'
import { processEnv } from '../../base/env/index.ts'
import { type EventSink, noteForLauncher } from '../../base/event/index.ts'
import { fromPlainError, type PlainError, toPlainError } from '../../base/util/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { isPaddleFolder, type LocalParams, loadPaddleModel } from '../../weights/params/index.ts'
import {
  type EpochsFile,
  loadSnapshot,
  openSnapshot,
  type Rows,
  type Snapshot,
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
} from '../ps/index.ts'
import { beginningOf, createParams, type PassResult, type PassStart } from '../threads/index.ts'
import type { WholeModel } from './checkpoint.ts'
import { readCount, readPlace, readSaved, readStart, type SharedStart } from './gathered.ts'
import type { SavedModel, TrainingStart } from './job.ts'
import type { CutModel, JobCheckpoints } from './job-checkpoints.ts'
import {
  allServerRows,
  beginServerRows,
  forgetChanges,
  hasLostRows,
  loadServerRows,
  saveServerRows,
} from './server-rows.ts'
import { serverTableWork } from './table-work.ts'
import type { WorkerMode } from './worker-mode.ts'

/** A model on servers. */
export interface ServedModel {
  readonly config: JobConfig
  readonly model: TracedModel
  readonly mode: WorkerMode
  readonly servers: ServerGroup
}

/** What worker 0 has found, as JSON: where all begin. */
export interface WorkerModelOptions extends ServedModel {
  readonly rank: number
  readonly checkpoints: JobCheckpoints
  readonly makesCuts: boolean
  readonly emit: EventSink
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
    let measured: PassStart['meter']
    if (rank === 0) {
      await checkpoints.prepare()
      if (checkpoints.load) {
        const storeRows = checkpoints.streams ? this.#storeRows : undefined
        const loadRows = checkpoints.streams
          ? (snapshot: Snapshot) => loadServerRows(this.#saving, snapshot)
          : undefined
        const dropRows = checkpoints.streams ? () => servers.requestAll(METHODS.reset, [], 'reset()') : undefined
        const start = await checkpoints.load({ params: this.#whole(), storeRows, loadRows, dropRows })
        const { position, history, workers, before } = start
        measured = start.before
        const counts = before && { ...before, sums: {}, histograms: {}, groups: undefined }
        own = { epoch: position.epoch, history, workers, before: counts }
        await this.#scatter()
      }
      if (checkpoints.started) await checkpoints.started(await this.#gather())
      // Rows are as they are kept; and servers learn that there will be cuts.
      if (checkpoints.beginCut) await forgetChanges(servers, this.#options.makesCuts)
    }
    const [first = own] = await servers.allGatherJson('start', own, { read: readStart })
    await mode.dense.spread()
    const { epoch, history, workers, before } = first
    // What was measured before goes on at the first.
    return { ...beginningOf(epoch), history, workers, before, meter: measured }
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
    const places = place && (await servers.allGatherJson('places in the data', place, { read: readPlace }))
    const path = rank === 0 ? await checkpoints.saveInterrupted?.(await this.#gather(), trained, places) : undefined
    return this.#everywhere('saving what was learned', path)
  }

  /** The job inside an epoch, where all workers have paused: each brings its place. */
  async saveCut(trained: PassResult, place: WorkerPlace): Promise<void> {
    const { rank, servers, checkpoints } = this.#options
    const { epoch, batch } = trained.position
    const places = await servers.allGatherJson(`a cut of epoch ${epoch}, part ${this.#cuts++}`, place, {
      read: readPlace,
    })
    if (rank === 0) {
      const params = await this.#gatherDense()
      const begin: CutModel['begin'] = (aside, changed) => beginServerRows(this.#saving, aside, changed)
      await checkpoints.beginCut!({ params, begin, hasLostRows: await hasLostRows(servers) }, trained, places)
    }
    await servers.allGatherJson(`a cut of epoch ${epoch} is taken, part ${this.#cuts}`, batch, { read: readCount })
    if (rank !== 0) noteForLauncher(processEnv()['OARFISH_LOG_FILE'], 'taken')
  }

  get #saving() {
    const { servers, model, emit } = this.#options
    return { servers, tables: model.train.tables, emit }
  }

  /** Nothing more is saved. */
  async close(): Promise<void> {
    await this.#options.checkpoints.close?.()
  }

  async #everywhere(name: string, path: string | undefined): Promise<string | undefined> {
    const [saved] = await this.#options.servers.allGatherJson<string | null>(name, path ?? null, { read: readSaved })
    return saved ?? undefined
  }

  /** What the servers hold: all of it, or dense weights and a way to the rows. */
  async #gather(): Promise<WholeModel> {
    const { servers } = this.#options
    const params = await this.#gatherDense()
    if (!this.#options.checkpoints.streams) {
      await gatherTables(servers, params)
      return { params, work: serverTableWork(this.#options.config, servers, params) }
    }
    const rowCounts = await gatherCounts(servers)
    return {
      params,
      rowCounts,
      rows: (aside) => saveServerRows(this.#saving, aside, rowCounts),
      forgetChanges: () => forgetChanges(servers),
      readRows: (table, changed) => allServerRows(servers, table, changed),
      lostRows: () => hasLostRows(servers),
      work: serverTableWork(this.#options.config, servers, params),
    }
  }

  async #gatherDense(): Promise<LocalParams> {
    const params = this.#whole()
    const { bytes, steps } = await this.#options.mode.dense.read()
    params.dense.bytes().set(bytes)
    params.dense.restoreSteps(steps)
    return params
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
  readonly value?: T | undefined
  readonly error?: PlainError | undefined
}
