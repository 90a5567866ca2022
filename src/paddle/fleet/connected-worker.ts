/** @file A worker that is connected to its servers: threads and steps over their weights, values gathered from the other workers. */
import type { JobConfig } from '../../base/config/index.ts'
import type { Cluster } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import type { Reader } from '../../base/net/index.ts'
import type { Exchange } from '../../data/index.ts'
import { openWorkerMode, type WorkerMode } from '../../training/driver/index.ts'
import {
  ADDING,
  type Call,
  type DenseFilesOptions,
  encodeJoin,
  gatherParams,
  gatherRows,
  loadDenseFiles,
  loadTables,
  METHODS,
  RemoteParams,
  ServerGroup,
  saveDenseFiles,
  saveTables,
  scatterParams,
  serverExchange,
  shrinkTables,
  warnOfToken,
} from '../../training/ps/index.ts'
import { type PassChanges, type PassHooks, type PassResult, Runtime } from '../../training/threads/index.ts'
import {
  createLocalParams,
  denseLayout,
  denseSlices,
  LocalParams,
  type Params,
  type Slice,
} from '../../weights/params/index.ts'
import type { Placement, SaveMode } from '../../weights/table/index.ts'
import { strategyError } from './errors.ts'
import { DEFAULT_SEGMENTS, fleetIdentity, placementOf } from './identity.ts'
import { joinedParams, openGeoParams } from './step-params.ts'
import type { FleetRuntime, FleetWorker, SettledStrategy, TrainingProgram } from './training-program.ts'

export interface WorkerJob {
  readonly cluster: Cluster
  readonly program: TrainingProgram
  readonly strategy: SettledStrategy
  readonly emit: EventSink
  /** Aborting ends it with its reason, also while it still connects. */
  readonly signal?: AbortSignal | undefined
  /** How long a live server may take to answer. @default 3 minutes */
  readonly requestTimeoutMs?: number | undefined
}

export class ConnectedWorker implements FleetWorker {
  readonly #job: WorkerJob
  readonly #servers: ServerGroup
  readonly #segments: number
  readonly #slices: readonly Slice[]
  readonly #placement: Placement
  /** Those hear that a process of the job is gone. */
  readonly #runtimes: Set<Runtime>
  /** Steps of this thread, whose gradients may be under way. */
  readonly #steps = new Set<Params>()
  /** How often each kind of value was gathered: all workers count alike. */
  readonly #met = new Map<string, number>()
  #exchanges = 0
  /** A geo worker's copy, which outlives the threads that train it. */
  #geo: { readonly mode: WorkerMode; readonly threads: number } | undefined

  private constructor(job: WorkerJob, servers: ServerGroup, runtimes: Set<Runtime>) {
    const { model, segments = DEFAULT_SEGMENTS } = job.program
    this.#job = job
    this.#servers = servers
    this.#runtimes = runtimes
    this.#segments = segments
    this.#slices = denseSlices(denseLayout(model.train, model.optimizer).floats, servers.size, job.cluster.tableServers)
    this.#placement = placementOf(job.cluster, job.strategy)
  }

  /** Connects to every server, waiting for those that are not up yet, and waits for the other workers. */
  static async open(job: WorkerJob): Promise<ConnectedWorker> {
    const { cluster, program, strategy, emit, signal, requestTimeoutMs } = job
    const runtimes = new Set<Runtime>()
    warnOfToken(cluster, emit)
    const servers = await ServerGroup.open({
      servers: cluster.servers,
      identity: fleetIdentity(cluster, program, strategy),
      // A program that ends without stopWorker is not kept alive by its connections.
      idle: true,
      onNotice: (message) => emit({ kind: 'notice', message }),
      onLost: (error) => {
        for (const runtime of runtimes) runtime.fail(error)
      },
      signal,
      requestTimeoutMs,
    })
    const worker = new ConnectedWorker(job, servers, runtimes)
    await worker.allGatherJson('initWorker', null)
    return worker
  }

  /** Meets all workers at a call that each of them makes: brings something, gets what each has brought, by rank. */
  allGatherJson<T>(call: string, what: T, read: Reader<T>): Promise<readonly T[]>
  allGatherJson(call: string, what: unknown): Promise<readonly unknown[]>
  allGatherJson(call: string, what: unknown, read?: Reader<unknown>): Promise<readonly unknown[]> {
    const count = (this.#met.get(call) ?? 0) + 1
    this.#met.set(call, count)
    return this.#servers.allGatherJson(count === 1 ? call : `${call} number ${count}`, what, { blocking: true, read })
  }

  async openRuntime(options: Parameters<FleetWorker['openRuntime']>[0]): Promise<FleetRuntime> {
    const { model } = this.#job.program
    const config = this.#configured(options.config)
    const { thread_num: threads } = config.runner
    const mode = this.#mode(config)
    const trainers = { params: mode.params, pool: mode.pool, threads, idle: true }
    const runtime = await Runtime.open({ ...options, config, model, trainers })
    this.#runtimes.add(runtime)
    let begin = true
    const train = async (epoch: number, changes: PassChanges): Promise<PassResult> => {
      await this.#join(threads, begin)
      if (begin) await mode.begin()
      begin = false
      const { afterBatch, settle } = mode.hooks(runtime)
      const hooks: PassHooks = {
        ...changes.hooks,
        afterBatch,
        settle: async () => {
          await settle?.()
          await this.#leave()
        },
      }
      return runtime.pass('train', epoch, { ...changes, hooks })
    }
    return {
      pass: (phase, epoch, changes = {}) =>
        phase === 'train' ? train(epoch, changes) : runtime.pass(phase, epoch, changes),
      close: async () => {
        this.#runtimes.delete(runtime)
        await runtime.close()
      },
    }
  }

  async openParams(): Promise<Params> {
    const { program, strategy, cluster } = this.#job
    const [segments, slices, placement] = [this.#segments, this.#slices, this.#placement]
    const call: Call = (...asked) => this.#servers.ask(...asked)
    const rows = (table: number) => gatherRows(this.#servers, table)
    const inner =
      strategy.mode === 'geo'
        ? openGeoParams({
            program,
            segments,
            slices,
            placement,
            call,
            rows,
            geoStep: strategy.geoStep,
            workers: cluster.workerNum,
          })
        : new RemoteParams({ call, thread: 0, segments, slices })
    const params = joinedParams(inner, () => this.#join(1, true))
    this.#steps.add(params)
    return params
  }

  /** How samples change hands: every call of every worker is one of its own, and all count alike. */
  exchange(): Exchange {
    const { rank, workerNum } = this.#job.cluster
    const inner = serverExchange(this.#servers, rank, workerNum)
    return { ...inner, swap: (name, rounds) => inner.swap(`${name}, exchange ${++this.#exchanges}`, rounds) }
  }

  async gather(): Promise<LocalParams> {
    await this.#flush()
    const params = this.blank()
    await gatherParams(this.#servers, this.#slices, params)
    return params
  }

  scatter(params: LocalParams): Promise<void> {
    return scatterParams(this.#servers, this.#slices, this.#placement, params)
  }

  /** Servers write their tables, and worker 0 the dense weights, as Paddle's files. */
  async savePaddleFiles(folder: string, mode: SaveMode): Promise<void> {
    await this.#flush()
    await saveTables(this.#servers, { folder, mode, tables: this.#tables })
    await saveDenseFiles(this.#servers, this.#denseFiles(folder))
  }

  async loadPaddleFiles(folder: string): Promise<void> {
    await loadTables(this.#servers, { folder, tables: this.#tables })
    await loadDenseFiles(this.#servers, this.#denseFiles(folder))
  }

  /** A day has passed for all tables; returns how many rows went. */
  async shrink(): Promise<number> {
    await this.#flush()
    return shrinkTables(this.#servers, this.#tables)
  }

  /** Says good-bye to the servers once they have everything. */
  async close(): Promise<void> {
    await this.#flush()
    await this.#servers.requestAll(METHODS.leave, [], 'leave(stopWorker)')
    this.#servers.close()
  }

  /** Good-bye without a look back: gradients under way may be lost. */
  leave(): void {
    this.#servers.close()
  }

  /** Tells the servers why this worker ends. */
  abort(reason: Error): void {
    this.#servers.abort(reason)
  }

  get #tables(): readonly number[] {
    return this.#job.program.model.train.tables.map((_, number) => number)
  }

  #denseFiles(folder: string): DenseFilesOptions {
    const { train, optimizer } = this.#job.program.model
    const layout = denseLayout(train, optimizer)
    return { folder, number: train.tables.length, layout, slices: this.#slices }
  }

  async #flush(): Promise<void> {
    for (const params of this.#steps) await params.flush()
  }

  /** This worker's threads take part in steps from now on. In sync nobody may begin before all do. */
  async #join(threads: number, begin: boolean): Promise<void> {
    await this.#servers.requestAll(METHODS.join, [encodeJoin({ threads, begin })], 'join(training)')
    if (this.#job.strategy.mode === 'sync') await this.allGatherJson('begin of training', null)
  }

  /** Steps of the others go on without this worker. */
  async #leave(): Promise<void> {
    await this.#servers.requestAll(METHODS.leave, [], 'leave(training)')
    if (this.#job.strategy.mode === 'sync') await this.allGatherJson('end of training', null)
  }

  /** What the job has settled wins over what a runtime's configuration says. */
  #configured(config: JobConfig): JobConfig {
    const { program, strategy } = this.#job
    const { geoStep } = strategy
    // As a program's own steps do it: by Paddle's rule, rows and dense weights alike.
    const geo = { geo_step: geoStep, geo_dense_step: geoStep, geo_delta: 'share' as const }
    const own = { seed: program.seed, table_segments: this.#segments, ...geo }
    return { ...config, table_parameters: strategy.tableParameters, runner: { ...config.runner, ...own } }
  }

  #mode(config: JobConfig): WorkerMode {
    const { program, strategy, cluster, requestTimeoutMs } = this.#job
    const { thread_num: threads } = config.runner
    const open = () =>
      openWorkerMode(strategy.mode, {
        config,
        model: program.model,
        servers: this.#servers,
        workers: cluster.workerNum,
        identity: fleetIdentity(cluster, program, strategy),
        tableServers: cluster.tableServers,
        requestTimeoutMs,
      })
    if (strategy.mode !== 'geo') return open()
    this.#geo ??= { mode: open(), threads }
    if (threads <= this.#geo.threads) return this.#geo.mode
    throw strategyError(
      `a geo worker that began with ${this.#geo.threads} threads cannot go on with ${threads}`,
      'give every dataset the same number of threads: dataset.setThread(n)',
    )
  }

  /** Weights as the servers keep them, at their first values: to load a model into. */
  blank(): LocalParams {
    const { program, strategy } = this.#job
    const { train, optimizer, tableOptimizers } = program.model
    // Geo's servers hold weights only: the optimizers' state lives with each worker.
    const { tableParameters } = strategy
    const rules =
      strategy.mode === 'geo'
        ? { optimizer: ADDING, plainTables: true }
        : { optimizer, tableOptimizers, tableParameters }
    const options = { program: train, ...rules, seed: program.seed, segments: this.#segments, threads: 1 }
    return new LocalParams(createLocalParams(options), 0)
  }
}
