/** @file Fleet: a program's way to be a worker or a server of a job. One instance is one job; it knows nothing of how programs are built. */

import { type Cluster, processEnv, psFlags } from '../../base/env/index.ts'
import { type EventSink, paddleSink } from '../../base/event/index.ts'
import { formatUserError, isUserError } from '../../base/util/index.ts'
import type { Exchange } from '../../data/index.ts'
import type { ModelOptimizer } from '../../model/index.ts'
import { type KernelStore, openStore, serveStore } from '../../training/ps/index.ts'
import { ConnectedWorker } from './connected-worker.ts'
import * as errors from './errors.ts'
import { DEFAULT_SEGMENTS, fleetIdentity, placementOf } from './identity.ts'
import { loadTables } from './load-tables.ts'
import { PaddleCloudRoleMaker, type RoleMaker } from './role-maker.ts'
import * as saving from './saving.ts'
import { type Strategy, settleStrategy } from './settle-strategy.ts'
import type { Distributable, FleetProgram, SettledStrategy, TrainingProgram } from './training-program.ts'
import { FleetUtil } from './util.ts'

export interface FleetOptions {
  /** What the job says goes there. @default PaddleRec's lines on standard output */
  readonly emit?: EventSink
}

/** Options of fleet.init. */
export interface FleetInitOptions {
  /** Collective training is not Fleet's here: true is refused. @default false */
  readonly isCollective?: boolean
  /** For optimizers that are given none. */
  readonly strategy?: Strategy
}

/** A plain optimizer with its strategy: what a model's createOptimizer may return. */
export type DistributedOptimizer = Extract<ModelOptimizer, { dense: unknown }> & {
  readonly strategy: Strategy | undefined
}

interface Registered {
  readonly program: TrainingProgram
  readonly strategy: SettledStrategy
}

/** One job and this process in it; programs use the one that is `fleet`. */
export class Fleet {
  readonly util = new FleetUtil(() => ({
    cluster: this.#ready('util'),
    allGatherJson: (call, what) => this.#allGatherJson(`util.${call}`, what),
    warn: (message) => this.#warn(message),
  }))
  readonly #emit: EventSink
  #cluster: Cluster | undefined
  #strategy: Strategy | undefined
  #registered: Registered | undefined
  #store: KernelStore | undefined
  #worker: ConnectedWorker | undefined
  /** The program ends and did not say stopWorker: if it failed, the others must know; else it is done. */
  readonly #onEnd = () => {
    if (Number(process.exitCode ?? 0) !== 0) return this.#onExit(Number(process.exitCode))
    this.stopWorker().catch((error: unknown) => {
      this.#warn(isUserError(error) ? formatUserError(error) : String(error))
      process.exitCode = 1
    })
  }
  /** The same where it ends at once, by process.exit. */
  readonly #onExit = (code: number) => {
    if (code === 0) this.#worker?.leave()
    else this.#worker?.abort(errors.workerFailed(this.workerIndex(), code))
  }

  constructor({ emit = paddleSink((text) => process.stdout.write(text)) }: FleetOptions = {}) {
    this.#emit = emit
  }

  /** Finds out who this process is: by its environment where no role maker says otherwise. */
  init(
    roleMaker: RoleMaker = new PaddleCloudRoleMaker(),
    { isCollective = false, strategy }: FleetInitOptions = {},
  ): void {
    if (typeof roleMaker?.generateRole !== 'function') throw errors.noRoleMaker(roleMaker)
    if (isCollective) throw errors.collective()
    this.#cluster = roleMaker.generateRole()
    this.#strategy = strategy
    this.#registered = undefined
    this.#store = undefined
  }

  // Who is who.

  isServer(): boolean {
    return this.#ready('isServer').role === 'server'
  }

  /** True also for a process that trains alone. */
  isWorker(): boolean {
    return this.#ready('isWorker').role !== 'server'
  }

  isFirstWorker(): boolean {
    return this.isWorker() && this.workerIndex() === 0
  }

  workerIndex(): number {
    return this.#ready('workerIndex').rank
  }

  workerNum(): number {
    return this.#ready('workerNum').workerNum
  }

  serverIndex(): number {
    return this.#ready('serverIndex').rank
  }

  serverNum(): number {
    return this.#ready('serverNum').servers.length
  }

  /** Hosts that workers run on. */
  nodeNum(): number {
    const hosts = this.#ready('nodeNum').workers.map((endpoint) => endpoint.slice(0, endpoint.lastIndexOf(':')))
    return Math.max(1, new Set(hosts).size)
  }

  workerEndpoints(): readonly string[] {
    return this.#ready('workerEndpoints').workers
  }

  serverEndpoints(): readonly string[] {
    return this.#ready('serverEndpoints').servers
  }

  // What is trained.

  /** The optimizer for a job: of an object with a minimize its own kind, of plain data what a model's createOptimizer may return. */
  distributedOptimizer<Wrapped>(optimizer: Distributable<Wrapped>, strategy?: Strategy): Wrapped
  distributedOptimizer(optimizer: ModelOptimizer, strategy?: Strategy): DistributedOptimizer
  distributedOptimizer<Wrapped>(
    optimizer: Distributable<Wrapped> | ModelOptimizer,
    strategy: Strategy | undefined = this.#strategy,
  ): Wrapped | DistributedOptimizer {
    if (typeof optimizer !== 'object' || optimizer === null) throw errors.noOptimizer(optimizer)
    if (isDistributable(optimizer))
      return optimizer.distributed({ register: (program) => this.#register(program, strategy) })
    if (optimizer.kind !== undefined) return { dense: optimizer, tables: {}, strategy }
    if (optimizer.dense === undefined) throw errors.noOptimizer(optimizer)
    return { ...optimizer, strategy }
  }

  // A server's life.

  /** Makes this server's part of the model; with a folder, its tables begin with what was saved there. */
  async initServer(dirname?: string, { varNames }: { readonly varNames?: readonly string[] } = {}): Promise<void> {
    const job = this.#distributed('initServer', 'server')
    if (!job) return
    const { cluster, program, strategy } = job
    const { model, seed, segments = DEFAULT_SEGMENTS } = program
    const { mode, tableParameters } = strategy
    const store = openStore({ cluster, model, mode, seed, segments, tableParameters })
    if (dirname !== undefined) {
      const placement = placementOf(cluster, strategy)
      await loadTables({ store, cluster, placement, dirname, varNames, emit: this.#emit })
    }
    this.#store = store
  }

  /** Serves until every worker has left; rejects, naming it, when a process of the job is gone. */
  async runServer(): Promise<void> {
    const job = this.#distributed('runServer', 'server')
    if (!job) return
    const { cluster, program, strategy } = job
    if (!this.#store) await this.initServer()
    const { segments = DEFAULT_SEGMENTS } = program
    const identity = fleetIdentity(cluster, program, strategy)
    const options = { cluster, store: this.#store!, mode: strategy.mode, segments, identity, emit: this.#emit }
    await serveStore({
      ...options,
      shards: placementOf(cluster, strategy).shards,
      threads: 0,
      ...psFlags(processEnv()),
    })
  }

  // A worker's life.

  /** Connects to the servers, waiting for those that are not up yet; returns when every worker is. */
  async initWorker(): Promise<void> {
    const job = this.#distributed('initWorker', 'worker')
    if (!job || this.#worker) return
    this.#worker = await ConnectedWorker.open({ ...job, emit: this.#emit, ...psFlags(processEnv()) })
    process.once('beforeExit', this.#onEnd)
    process.once('exit', this.#onExit)
  }

  /** Everything this worker has learned is on the servers, and they know that it has left. Servers end when all have. */
  async stopWorker(): Promise<void> {
    if (this.#nonDistributed('stopWorker')) return
    const worker = this.#worker
    this.#worker = undefined
    process.off('beforeExit', this.#onEnd)
    process.off('exit', this.#onExit)
    await worker?.close()
  }

  /** Returns when every worker has called it. */
  async barrierWorker(): Promise<void> {
    if (!this.#nonDistributed('barrierWorker')) await this.#allGatherJson('barrierWorker', null)
  }

  /** How samples change hands between workers, for dataset.globalShuffle(fleet); undefined in a process that trains alone. */
  exchange(): Exchange | undefined {
    return this.#ready('exchange').role === 'local' ? undefined : this.#connected('exchange').exchange()
  }

  // Saving: every worker calls it, worker 0 writes.

  async savePersistables(options: saving.SavePersistablesOptions): Promise<void> {
    if (!this.#nonDistributed('savePersistables')) await saving.savePersistables(this.#job('savePersistables'), options)
  }

  async saveInferenceModel(options: saving.SaveInferenceModelOptions): Promise<void> {
    if (!this.#nonDistributed('saveInferenceModel'))
      await saving.saveInferenceModel(this.#job('saveInferenceModel'), options)
  }

  async loadModel(dirname: string, mode = 0): Promise<void> {
    if (!this.#nonDistributed('loadModel')) await saving.loadModel(this.#job('loadModel'), dirname, mode)
  }

  /** A day has passed: show and click fade, rows that are worth too little go. For tables with an accessor. */
  async shrink(threshold?: number): Promise<void> {
    if (this.#nonDistributed('shrink')) return
    if (threshold !== undefined)
      this.#warn('shrink: the threshold is that of each table (delete_threshold), the argument is not used')
    await saving.shrink(this.#job('shrink'))
  }

  /** The same as util.getFileShard, by its name in fleet 1.x. */
  splitFiles(files: readonly string[]): string[] {
    return this.util.getFileShard(files)
  }

  #register(program: TrainingProgram, strategy: Strategy | undefined): FleetProgram {
    const cluster = this.#ready('distributedOptimizer')
    if (this.#registered) throw errors.twoPrograms()
    const settled = settleStrategy(strategy, program)
    const { mode, reason } = settled
    if (reason !== undefined) this.#emit({ kind: 'notice', message: `Fleet trains in mode ${mode}: ${reason}.` })
    this.#registered = { program, strategy: settled }
    const worker = () => (cluster.role === 'local' ? undefined : this.#connected('initWorker'))
    return {
      ...settled,
      cluster,
      placement: placementOf(cluster, settled),
      get worker() {
        return worker()
      },
    }
  }

  #ready(call: string): Cluster {
    if (!this.#cluster) throw errors.notInitialized(call)
    return this.#cluster
  }

  #minimized(call: string): Registered {
    if (!this.#registered) throw errors.notMinimized(call)
    return this.#registered
  }

  /** What a call of this role works with; undefined in a job of one process. */
  #distributed(call: string, role: 'server' | 'worker'): (Registered & { readonly cluster: Cluster }) | undefined {
    if (this.#nonDistributed(call)) return undefined
    const cluster = this.#ready(call)
    const registered = this.#minimized(call)
    if (cluster.role !== role) throw errors.wrongRole(call, role)
    return { cluster, ...registered }
  }

  #connected(call: string): ConnectedWorker {
    if (!this.#worker) throw errors.notConnected(call)
    return this.#worker
  }

  #job(call: string): saving.SavingJob {
    const { program, strategy } = this.#minimized(call)
    return { worker: this.#connected(call), rank: this.workerIndex(), program, strategy, emit: this.#emit }
  }

  /** What workers bring is the program's own: whoever calls this looks at it. */
  async #allGatherJson(call: string, what: unknown): Promise<readonly unknown[]> {
    if (this.#ready(call).role === 'local') return [what]
    return this.#connected(call).allGatherJson(call, what)
  }

  /** In a job of one process there is nothing to do; that is said, since it may not be meant. */
  #nonDistributed(call: string): boolean {
    if (this.#ready(call).role !== 'local') return false
    this.#warn(`${call}() function doesn't work when use non_distributed fleet.`)
    return true
  }

  #warn(message: string): void {
    this.#emit({ kind: 'warning', message })
  }
}

function isDistributable<Wrapped>(
  optimizer: Distributable<Wrapped> | ModelOptimizer,
): optimizer is Distributable<Wrapped> {
  return typeof (optimizer as Partial<Distributable<Wrapped>>).distributed === 'function'
}
