/** @file What the mode means for a worker: how its threads reach weights, how batches are dealt to them, what happens between batches. */
import { MessageChannel } from 'node:worker_threads'
import type { JobConfig } from '../../base/config/index.ts'
import type { Cluster } from '../../base/env/index.ts'
import { type Identity, REQUEST_TIMEOUT_MS } from '../../base/net/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { TracedModel } from '../../model/index.ts'
import {
  type DenseLayout,
  denseLayout,
  denseSlices,
  type LocalParams,
  newLink,
  refusePrecisions,
  type Slice,
} from '../../weights/params/index.ts'
import { type Placement, refuseAccessors } from '../../weights/table/index.ts'
import { type Group, openGroup, workersRing } from '../collective/index.ts'
import {
  counted,
  createCopy,
  type DenseState,
  GeoExchange,
  type GeoParamsHandle,
  gatherDense,
  gatherRows,
  geoServerRules,
  type PsMode,
  type RemoteParamsHandle,
  type ServerGroup,
  scatterDense,
  serveThread,
  shardsOf,
} from '../ps/index.ts'
import { type HybridHandle, pushedPart, rankSeed } from '../step/index.ts'
import { createParams, type PassHooks, type Runtime, type TrainerPoolOptions } from '../threads/index.ts'

export interface WorkerMode {
  readonly slices: readonly Slice[]
  /** The dense weights of the job, wherever the mode has them: for saving and loading. */
  readonly dense: DenseKeeper
  readonly placement: Placement
  /** By which the servers update weights. */
  readonly serverRules: Pick<TracedModel, 'optimizer' | 'tableOptimizers'>
  readonly pool: TrainerPoolOptions
  /** What steps draw random numbers from. @default the job's seed */
  readonly seed?: number
  /** Workers need not make every step together: a fast one reads chunks that a slow one has not begun. */
  readonly takesOver: boolean
  /** A trainer thread's way to the weights. */
  params(thread: number): RemoteParamsHandle | GeoParamsHandle | HybridHandle
  /** Before the first batch, and before any worker trains. */
  begin(): Promise<void>
  /** Between the batches of a pass that trains; when it has settled, everything this worker has learned is on the servers. */
  hooks(runtime: Runtime): Pick<PassHooks, 'afterBatch' | 'settle' | 'links'>
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
  readonly requestTimeoutMs?: number | undefined
  /** See Placement. @default tables on all servers */
  readonly tableServers?: number | undefined
}

export function openWorkerMode(mode: PsMode, options: WorkerModeOptions): WorkerMode {
  refuseHotRows(options, mode)
  return MODES[mode](options)
}

/** Gradients that were kept back are sent without a step, which only servers that apply each push by itself can do. */
function refuseHotRows({ config }: WorkerModeOptions, mode: PsMode | 'hybrid'): void {
  const { runner, table_parameters: tables } = config
  if (runner.hot_rows === 0) return
  const [table] = Object.entries(tables).find(([, { accessor }]) => accessor) ?? []
  if (mode === 'async' && table === undefined) return
  const why = mode === 'async' ? `rows of table ${table} count shows and clicks` : `the mode is ${mode}`
  throw new UserError(`runner.hot_rows: rows cannot be kept at workers where ${why}`, {
    code: 'HOT_ROWS',
    hint: 'take runner.hot_rows out, or train tables without an accessor with runner.sync_mode: async',
  })
}

const MODES: { readonly [M in PsMode]: (options: WorkerModeOptions) => WorkerMode } = {
  /** All threads of all workers make every step together. */
  sync: (options) => ({ ...remoteMode(options, 0), pool: { inTurn: true }, takesOver: false }),
  /** The threads of a worker make every step together. */
  half_async: (options) => ({ ...remoteMode(options, 0), pool: { inTurn: true } }),
  /** Every thread for itself: while it computes a batch, the rows of the next come and the gradients of the last go. */
  async: (options) => ({ ...keepingHot(options, remoteMode(options, 1)), pool: { ahead: 3 } }),
  geo: geoMode,
}

/** Threads keep the rows of their last batches, where runner.hot_rows says so. */
function keepingHot({ config, model }: WorkerModeOptions, mode: ReturnType<typeof remoteMode>) {
  const { hot_rows: rows, hot_rows_batches: batches } = config.runner
  if (rows === 0) return mode
  const hot = { rows, batches, dims: model.train.tables.map(({ dim }) => dim) }
  return { ...mode, params: (thread: number): RemoteParamsHandle => ({ ...mode.params(thread), hot }) }
}

function remoteMode(
  options: WorkerModeOptions,
  pullsAhead: 0 | 1,
  layout: DenseLayout = denseLayout(options.model.train, options.model.optimizer),
) {
  const { config, model, servers, tableServers } = options
  const slices = denseSlices(layout.floats, servers.size, tableServers)
  const shards = shardsOf(config, servers.size)
  const placement = { servers: servers.size, shards, tableServers }
  const { table_segments: segments, wire_precision: precision } = config.runner
  return {
    slices,
    placement,
    serverRules: model,
    pool: {},
    takesOver: true,
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
    hooks: () => ({}),
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
  const { train, optimizer, tableOptimizers } = model
  // Dense weights come back with every push of their gradients.
  const remote = remoteMode(options, geo_delta === 'share' ? 0 : 1)
  const { placement, slices } = remote
  refuseAccessors(train.tables, config.table_parameters)
  refusePrecisions(config.table_parameters)
  const rules = { program: train, optimizer, tableOptimizers }
  const local = createCopy({ ...rules, seed, segments, threads: threads + 2 }, geo_delta)
  const links = slices.map((_, server) => newLink(`server-${server}`))
  const exchange = new GeoExchange({
    segments,
    local,
    thread: threads,
    placement,
    slices,
    workers,
    delta: geo_delta,
    isHalved: (server) => wire_precision === 'float16' && servers.localPath(server, 0) === undefined,
    call: counted((...asked) => servers.ask(...asked), links),
  })
  let begun: Promise<void> | undefined
  const run = async (runtime: Runtime, rows: 'all' | 'often' | 'none') => {
    await (rows === 'none' ? exchange.run([]) : exchange.run(await runtime.touched(), rows))
    runtime.noteDrift(exchange.drift, workers)
  }
  const between = geo_delta === 'share' ? 'none' : 'often'
  return {
    ...remote,
    serverRules: geoServerRules(rules, geo_delta),
    params: (thread) => ({ kind: 'geo', local, remote: remote.params(thread), delta: geo_delta }),
    begin: () => {
      begun ??= exchange.begin((table) => gatherRows(servers, table))
      return begun
    },
    hooks: (runtime) => ({
      afterBatch: (index) => {
        if ((index + 1) % geo_step === 0) return () => run(runtime, 'all')
        // Copies of what most batches change drift apart sooner than those of rows that come seldom.
        return (index + 1) % geo_dense_step === 0 ? () => run(runtime, between) : undefined
      },
      links: () => links,
      settle: async () => exchange.settle(await runtime.touched()),
    }),
  }
}

/** The workers of a job with servers as a group. Says so. */
export async function openWorkers(
  cluster: Cluster,
  threads: number,
  notice: (message: string) => void,
): Promise<Group> {
  const group = await openGroup(workersRing(cluster), notice)
  notice(`Hybrid: rows are on servers, dense gradients are averaged among the workers by ${group.description}.`)
  if (threads > 1) notice(`runner.thread_num ${threads}: a worker of a hybrid job trains on one thread; start more.`)
  return group
}

/** Servers hold the rows, each worker at its own pace; the group of workers steps the dense weights together. */
export function hybridMode(options: WorkerModeOptions, group: Group, rank: number): WorkerMode {
  const { config, model } = options
  refuseHotRows(options, 'hybrid')
  const { train, optimizer, dygraph } = model
  const program = { state: train.state, tables: [] }
  const own = { ...model, train: { ...train, tables: [] } }
  const local = createParams({ ...config, table_parameters: {} }, own, { optimizer, tableOptimizers: {} }, 1, true)
  const rows = remoteMode(options, 1, { entries: [], floats: 0, trainable: 0 })
  return {
    ...rows,
    pool: { ahead: 3 },
    seed: rankSeed(config.runner.seed, rank),
    takesOver: false,
    dense: denseKeeper(local, group),
    params: (thread): HybridHandle => ({
      kind: 'hybrid',
      rows: rows.params(thread),
      dense: {
        kind: 'parallel',
        local: local.handle,
        group: group.handle(),
        program,
        groups: [],
        sharded: [],
        segments: config.runner.table_segments,
        differ: dygraph !== undefined || pushedPart(train, local.dense.layout) !== undefined,
      },
    }),
  }
}

/** All ranks have the same dense weights: each is as good as the others. */
function denseKeeper({ dense }: LocalParams, group: Group): DenseKeeper {
  const take = ({ bytes, steps }: DenseState) => {
    dense.bytes().set(bytes)
    dense.restoreSteps(steps)
  }
  return {
    read: async () => ({ bytes: dense.bytes(), steps: dense.steps }),
    write: async (state) => take(state),
    spread: async () => {
      const steps = Int32Array.of(dense.steps)
      await group.broadcast(steps)
      await group.broadcast(dense.bytes())
      dense.restoreSteps(steps[0]!)
    },
  }
}
