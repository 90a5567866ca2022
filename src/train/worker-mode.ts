/** @file What the mode means for a worker: how its threads reach weights, how batches are dealt to them, what happens between batches. */
import { MessageChannel } from 'node:worker_threads'
import type { JobConfig } from '../config/index.ts'
import type { TracedModel } from '../model/index.ts'
import type { Identity } from '../net/index.ts'
import { createLocalParams, type DenseLayout, denseLayout } from '../params/index.ts'
import {
  type DenseState,
  denseSlices,
  GeoExchange,
  type GeoParamsHandle,
  gatherDense,
  gatherRows,
  geoDenseRate,
  type Placement,
  type PsMode,
  REQUEST_TIMEOUT_MS,
  type RemoteParamsHandle,
  type ServerGroup,
  type Slice,
  scatterDense,
  serveThread,
  shardsOf,
} from '../ps/index.ts'
import { refuseAccessors } from '../table/index.ts'
import type { HybridHandle } from './parallel/hybrid-params.ts'
import type { Runtime } from './runtime.ts'
import type { TrainerPoolOptions } from './trainer-pool.ts'

export interface WorkerMode {
  readonly slices: readonly Slice[]
  /** The dense weights of the job, wherever the mode has them: for saving and loading. */
  readonly dense: DenseKeeper
  readonly placement: Placement
  readonly pool: TrainerPoolOptions
  /** A trainer thread's way to the weights. */
  params(thread: number): RemoteParamsHandle | GeoParamsHandle | HybridHandle
  /** Before the first batch, and before any worker trains. */
  begin(): Promise<void>
  /** What to do once batch `index` and all before it are trained; undefined: nothing. */
  afterBatch(runtime: Runtime, index: number): (() => Promise<void>) | undefined
  /** Everything this worker has learned is on the servers when this returns. */
  settle(runtime: Runtime): Promise<void>
}

export interface DenseKeeper {
  read(): Promise<DenseState>
  write(state: DenseState): Promise<void>
  /** Every worker calls it once worker 0 has written what the job starts from. */
  spread(): Promise<void>
}

export interface WorkerModeOptions {
  readonly config: JobConfig
  readonly model: TracedModel
  readonly servers: ServerGroup
  readonly workers: number
  /** How threads introduce themselves to servers of this host. */
  readonly identity: Identity
  readonly requestTimeoutMs?: number
  /** See Placement. @default tables on all servers */
  readonly tableServers?: number
}

export function openWorkerMode(mode: PsMode, options: WorkerModeOptions): WorkerMode {
  return MODES[mode](options)
}

const MODES: { readonly [M in PsMode]: (options: WorkerModeOptions) => WorkerMode } = {
  /** All threads of all workers make every step together. */
  sync: (options) => ({ ...remoteMode(options, 0), pool: { inTurn: true } }),
  /** The threads of a worker make every step together. */
  half_async: (options) => ({ ...remoteMode(options, 0), pool: { inTurn: true } }),
  /** Every thread for itself: while it computes a batch, the rows of the next come and the gradients of the last go. */
  async: (options) => ({ ...remoteMode(options, 1), pool: { ahead: 3 } }),
  geo: geoMode,
}

/** Rows on servers, as in async; dense weights are somebody else's. */
export function rowsMode(options: WorkerModeOptions) {
  return remoteMode(options, 1, { entries: [], floats: 0, trainable: 0 })
}

function remoteMode(
  options: WorkerModeOptions,
  pullsAhead: 0 | 1,
  layout: DenseLayout = denseLayout(options.model.train, options.model.optimizer),
) {
  const { config, servers, tableServers } = options
  const slices = denseSlices(layout.floats, servers.size, tableServers)
  const shards = shardsOf(config, servers.size)
  const placement = { servers: servers.size, shards, ...(tableServers !== undefined && { tableServers }) }
  const { table_segments: segments, wire_precision: precision } = config.runner
  return {
    ...{ slices, placement, pool: {} },
    dense: {
      read: () => gatherDense(servers, slices),
      write: (state) => scatterDense(servers, slices, state),
      spread: async () => undefined,
    },
    params: (thread): RemoteParamsHandle => {
      const { port1, port2 } = new MessageChannel()
      serveThread(port1, servers, thread)
      const links = threadLinks(options, layout, thread)
      return { kind: 'remote', port: port2, thread, layout, slices, segments, placement, pullsAhead, links, precision }
    },
    begin: async () => undefined,
    afterBatch: () => undefined,
    settle: async () => undefined,
  } satisfies WorkerMode
}

/** Gradients of two batches and the rows of a third may be under way at a time; what finds no room goes over the socket. */
function threadLinks(options: WorkerModeOptions, layout: DenseLayout, thread: number) {
  const { config, model, servers, identity, requestTimeoutMs } = options
  const { slots, train } = model
  const signs = config.runner.train_batch_size * slots.filter(({ kind }) => kind === 'sparse').length
  const rowBytes = train.tables.reduce((sum, { dim }) => sum + 4 * dim, 8)
  const bytes = Math.min(MAX_LINK_BYTES, 3 * (4 * layout.floats + signs * rowBytes) + MIN_LINK_BYTES)
  const { endpoints } = servers
  const paths = endpoints.map((_, server) => servers.localPath(server, thread))
  return { identity, servers: endpoints, paths, bytes, timeoutMs: requestTimeoutMs ?? REQUEST_TIMEOUT_MS }
}

const MIN_LINK_BYTES = 64 * 1024
const MAX_LINK_BYTES = 64 * 1024 * 1024

/** Each worker trains a copy of its own and exchanges changed rows every geo_step batches. */
function geoMode(options: WorkerModeOptions): WorkerMode {
  const { config, model, servers, workers } = options
  const {
    thread_num: threads,
    table_segments: segments,
    seed,
    geo_step,
    geo_dense_step,
    geo_delta,
    wire_precision,
  } = config.runner
  const { train: program, optimizer, tableOptimizers } = model
  const remote = remoteMode(options, 0)
  const { placement, slices } = remote
  refuseAccessors(program.tables, config.table_parameters)
  const tables = { tableOptimizers, plainTables: true }
  const denseRate = geoDenseRate(geo_delta, workers)
  const local = createLocalParams({ program, optimizer, ...tables, seed, segments, denseRate, threads: threads + 2 })
  const exchange = new GeoExchange({
    ...{ program, seed, segments, local, thread: threads, placement, slices, workers },
    delta: geo_delta,
    isHalved: (server) => wire_precision === 'float16' && servers.localPath(server, 0) === undefined,
    call: (...asked) => servers.ask(...asked),
  })
  let begun: Promise<void> | undefined
  const run = async (runtime: Runtime) => exchange.run(await runtime.touched())
  return {
    ...remote,
    params: (thread) => ({ kind: 'geo', local, remote: remote.params(thread) }),
    begin: () => {
      begun ??= exchange.begin((table) => gatherRows(servers, table))
      return begun
    },
    afterBatch: (runtime, index) => {
      if ((index + 1) % geo_step === 0) return () => run(runtime)
      // Dense weights, which every batch changes, drift apart sooner than rows.
      return (index + 1) % geo_dense_step === 0 ? () => exchange.run([]) : undefined
    },
    settle: async (runtime) => exchange.settle(await runtime.touched()),
  }
}
