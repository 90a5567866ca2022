/** @file A trainer of a transpiled program: connected to the servers, as the Executor and fluid.io ask for it. */
import { MessageChannel } from 'node:worker_threads'
import { type Cluster, processEnv, psFlags } from '../../../base/env/index.ts'
import type { EventSink } from '../../../base/event/index.ts'
import { type Identity, REQUEST_TIMEOUT_MS } from '../../../base/net/index.ts'
import type { TracedModel } from '../../../model/index.ts'
import {
  type Call,
  encodeJoin,
  gatherDense,
  gatherRows,
  METHODS,
  type PsMode,
  RemoteParams,
  type RemoteParamsHandle,
  ServerGroup,
  scatterDense,
  scatterRows,
  serveThread,
  WiredParams,
} from '../../../training/ps/index.ts'
import { Runtime } from '../../../training/threads/index.ts'
import { createLocalParams, denseLayout, LocalParams, type Params } from '../../../weights/params/index.ts'
import { DEFAULT_SHARDS } from '../../../weights/table/index.ts'
import type { FleetRuntime, FleetWorker } from '../../fleet/index.ts'
import { SEGMENTS } from '../weights.ts'
import type { Plan } from './plan.ts'

export interface TrainerOptions {
  readonly cluster: Cluster
  readonly identity: Identity
  readonly model: TracedModel
  readonly seed: number
  readonly mode: Exclude<PsMode, 'geo'>
  readonly plan: Plan
  readonly emit: EventSink
}

export class Trainer implements FleetWorker {
  readonly #options: TrainerOptions
  readonly #servers: ServerGroup
  readonly #params = new Set<Params>()
  /** How often threads joined: all trainers count alike. */
  #joins = 0
  readonly #lost: { listener: (error: Error) => void }

  private constructor(options: TrainerOptions, servers: ServerGroup, lost: { listener: (error: Error) => void }) {
    this.#options = options
    this.#servers = servers
    this.#lost = lost
  }

  /** Connects to all servers, waiting for those that are not up yet. */
  static async open(options: TrainerOptions): Promise<Trainer> {
    const { cluster, identity, emit } = options
    const lost = { listener: (_: Error) => {} }
    const servers = await ServerGroup.open({
      servers: cluster.servers,
      identity,
      // A program that ends without exe.close() is not kept alive by its connections: the servers notice.
      idle: true,
      onNotice: (message) => emit({ kind: 'notice', message }),
      onLost: (error) => lost.listener(error),
      ...psFlags(processEnv()),
    })
    return new Trainer(options, servers, lost)
  }

  async openParams(): Promise<Params> {
    const { plan } = this.#options
    const call: Call = (...asked) => this.#servers.ask(...asked)
    const remote = new RemoteParams({
      call,
      thread: 0,
      segments: SEGMENTS,
      slices: plan.slices,
    })
    const params = new WiredParams(remote, plan.wire)
    this.#params.add(params)
    return params
  }

  async openRuntime(options: Parameters<FleetWorker['openRuntime']>[0]): Promise<FleetRuntime> {
    const { model, mode } = this.#options
    const { thread_num: threads } = options.config.runner
    const pool = mode === 'async' ? { ahead: 3 } : { inTurn: true }
    const trainers = { params: (thread: number) => this.#handle(thread), pool, threads, idle: true }
    const runtime = await Runtime.open({ ...options, model, trainers })
    this.#lost.listener = (error) => runtime.fail(error)
    let joined = false
    return {
      pass: async (phase, epoch, changes) => {
        if (phase === 'train' && !joined) await this.#join(threads)
        joined ||= phase === 'train'
        return runtime.pass(phase, epoch, changes)
      },
      close: () => runtime.close(),
    }
  }

  async gather(): Promise<LocalParams> {
    for (const params of this.#params) await params.flush()
    const into = this.#blank()
    const { plan } = this.#options
    const { bytes, steps } = await gatherDense(this.#servers, plan.slices)
    this.#move(into, bytes, 'fromWire')
    into.dense.restoreSteps(steps)
    for (const [t, table] of into.tables.entries())
      for await (const { signs, rows } of gatherRows(this.#servers, t)) table.load(signs, rows)
    return into
  }

  async scatter(params: LocalParams): Promise<void> {
    const { plan } = this.#options
    const runs = params.dense.bytes().byteLength / (4 * params.dense.layout.floats)
    const bytes = new Uint8Array(4 * plan.wire.floats * runs)
    this.#move(params, bytes, 'toWire')
    await scatterDense(this.#servers, plan.slices, { bytes, steps: params.dense.steps })
    const placement = { servers: this.#servers.size, shards: DEFAULT_SHARDS }
    for (const [t, table] of params.tables.entries())
      for (const { signs, rows } of table.scan())
        await scatterRows(this.#servers, placement, t, { signs: signs.slice(), rows: rows.slice() })
  }

  /** Everything pushed is applied, and the servers know that this trainer is done. */
  async close(): Promise<void> {
    for (const params of this.#params) await params.flush()
    this.#servers.close()
  }

  /** These threads take part in steps from now on; in sync nobody begins before all do. */
  async #join(threads: number): Promise<void> {
    await this.#servers.requestAll(METHODS.join, [encodeJoin({ threads, begin: true })], 'join(training)')
    if (this.#options.mode === 'sync') await this.#servers.allGatherJson(`begin of training ${++this.#joins}`, null)
  }

  #handle(thread: number): RemoteParamsHandle {
    const { model, mode, plan } = this.#options
    const { port1, port2 } = new MessageChannel()
    serveThread(port1, this.#servers)
    return {
      kind: 'remote',
      port: port2,
      thread,
      slices: plan.slices,
      wire: plan.wire,
      segments: SEGMENTS,
      layout: denseLayout(model.train, model.optimizer),
      placement: { servers: this.#servers.size, shards: DEFAULT_SHARDS },
      pullsAhead: mode === 'async' ? 1 : 0,
      links: {
        identity: this.#options.identity,
        servers: this.#servers.endpoints,
        bytes: 0,
        timeoutMs: psFlags(processEnv()).requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
        // Blocks are put in order by the thread that computes: it asks through this one.
        paths: this.#servers.endpoints.map(() => undefined),
      },
    }
  }

  #blank(): LocalParams {
    const { model, seed } = this.#options
    const { train: program, optimizer, tableOptimizers } = model
    return new LocalParams(
      createLocalParams({ program, optimizer, tableOptimizers, seed, segments: SEGMENTS, threads: 1 }),
      0,
    )
  }

  /** Weights and each run of optimizer state between the layout of a process and that of the servers. */
  #move({ dense }: LocalParams, bytes: Uint8Array, way: 'toWire' | 'fromWire'): void {
    const { wire } = this.#options.plan
    const own = dense.bytes()
    const local = new Float32Array(own.buffer, own.byteOffset, own.byteLength / 4)
    const travelling = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
    const { floats } = dense.layout
    for (let run = 0; run * floats < local.length; run++) {
      for (const { at, wire: to, size } of wire.runs) {
        const [here, there] = [run * floats + at, run * wire.floats + to]
        if (way === 'toWire') travelling.set(local.subarray(here, here + size), there)
        else local.set(travelling.subarray(there, there + size), here)
      }
    }
  }
}
