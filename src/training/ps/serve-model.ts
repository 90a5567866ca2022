/** @file A server's weights and their service: opened from a model, served until every worker is done. Knows no configuration file. */
import { totalmem } from 'node:os'
import type { GeoDelta } from '../../base/config/index.ts'
import { type Cluster, processEnv, startTimeoutOf } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import {
  type Identity,
  type Listener,
  newLocalPath,
  openPulse,
  socketTransport,
  splitEndpoint,
  type Transport,
} from '../../base/net/index.ts'
import { openTracer } from '../../base/trace/index.ts'
import { isUserError, UserError } from '../../base/util/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { denseLayout, denseSlices, refuseLimits, refusePrecisions } from '../../weights/params/index.ts'
import {
  DEFAULT_SHARDS,
  type Placement,
  refuseAccessors,
  type TablesParameters,
  tableSizes,
} from '../../weights/table/index.ts'
import { geoServerRules } from './geo-rules.ts'
import { joinHot } from './hot-rows.ts'
import { type InspectRequest, inspectStore } from './inspect.ts'
import { KernelStore } from './kernel-store.ts'
import { serveWorkers, type WorkerService } from './serve-workers.ts'
import { ParameterServer, type PsMode } from './server.ts'
import { ShardThreads } from './shard-threads.ts'
import { TableTasks } from './table-tasks.ts'
import { joinMemories } from './update-log.ts'

export interface OpenStoreOptions {
  readonly cluster: Cluster
  readonly model: TracedModel
  readonly mode: PsMode
  readonly seed: number
  readonly segments: number
  /** Accessors and entry policies, by table. @default those of the model */
  readonly tableParameters?: TablesParameters | undefined
  /** New rows are refused when tables take more. @default 90 % of the memory of the host or container */
  readonly memoryLimitBytes?: number | undefined
  /** Threads that will serve from it. @default 1 */
  readonly serverThreads?: number | undefined
  /** What workers of a geo job bring in. @default Paddle's rule */
  readonly geoDelta?: GeoDelta | undefined
  /** Where rows go that a memory_limit leaves no room for. @default tables have no limits */
  readonly tierFolder?: string | undefined
  /** No dense weights: workers keep them among themselves. @default false */
  readonly rowsOnly?: boolean | undefined
}

/** This server's part of a model, at its initial values. */
export function openStore(options: OpenStoreOptions): KernelStore {
  const { cluster, model, mode, seed, segments, serverThreads, rowsOnly } = options
  const { memoryLimitBytes = defaultMemoryLimit(), tableParameters = {}, tierFolder } = options
  if (mode === 'geo') {
    refuseLimits(tableParameters, 'in geo')
    refusePrecisions(tableParameters)
  }
  if (serverThreads !== undefined && serverThreads > 1)
    refuseLimits(tableParameters, 'with several runner.server_threads')
  const { train: program, optimizer, tableOptimizers } = model
  const floats = rowsOnly ? 0 : denseLayout(program, optimizer).floats
  const slice = denseSlices(floats, cluster.servers.length, cluster.tableServers)[cluster.rank]!
  if (mode === 'geo') refuseAccessors(program.tables, tableParameters)
  const rules =
    mode === 'geo'
      ? geoServerRules({ program, optimizer, tableOptimizers }, options.geoDelta ?? 'share')
      : { optimizer, tableOptimizers, tableParameters }
  const who = `server[${cluster.rank}] ${cluster.endpoint}`
  return new KernelStore({ program, ...rules, seed, segments, slice, memoryLimitBytes, serverThreads, who, tierFolder })
}

export interface ServeStoreOptions {
  readonly cluster: Cluster
  readonly store: KernelStore
  readonly mode: PsMode
  readonly segments: number
  /** Into how many shards signs are dealt. @default 1000 */
  readonly shards?: number | undefined
  /** Trainer threads of each worker; 0: each says so when it joins. */
  readonly threads: number
  /** Threads of this server that serve pulls and pushes; only in async, where no step waits for another. @default 1 */
  readonly serverThreads?: number | undefined
  readonly identity: Identity
  readonly emit: EventSink
  /**
   * Aborting asks workers to save together and to leave; where they cannot, the server ends without them after a moment. With a
   * UserError as its reason everybody gets that, at once.
   */
  readonly signal?: AbortSignal | undefined
  readonly transport?: Transport | undefined
  /** How long workers may take to come up. @default 5 minutes, one where the launcher has started this process again */
  readonly startTimeoutMs?: number | undefined
  /** How long the main thread of a worker that lives may not run. @default 3 minutes */
  readonly requestTimeoutMs?: number | undefined
  /** A worker is gone without a good-bye: what to end with, or undefined to go on without it. @default ends with the error */
  readonly onLost?: ((rank: number, error: Error) => Error | undefined) | undefined
}

const STOP_GRACE_MS = 3000
/** Between two looks at how large tables are. */
const TABLES_MS = 2000
/** Whoever asked for the end kills what takes longer than it allows. */
const SAVE_GRACE_MS = 10 * 60 * 1000

/** Resolves when every worker has said good-bye; rejects, naming it, when a process of the job is gone. */
export async function serveStore(options: ServeStoreOptions): Promise<void> {
  const { cluster, store, mode, segments, threads, identity, emit, onLost } = options
  const { signal, transport = socketTransport, startTimeoutMs = startTimeoutOf(processEnv()) } = options
  const { workerNum: workers } = cluster
  const failed = { listener: (_: Error) => {} }
  const isSockets = transport === socketTransport
  const { host } = splitEndpoint(cluster.endpoint)
  const onWarning = (message: string) => emit({ kind: 'warning', message })
  const [shardThreads, pulse] = await Promise.all([
    openShardThreads(options, (error) => failed.listener(error)),
    isSockets ? openPulse({ identity, others: workers, host, onWarning }) : undefined,
  ])
  const placement = placementOf(options)
  const tasks = new TableTasks(store, placement, cluster.rank)
  const tables = (body: Uint8Array) => tasks.handle(body)
  const onReset = async () => shardThreads?.attach(store)
  const settleOthers = shardThreads && (() => shardThreads.settle())
  const tracer = openTracer(processEnv(), { 'oarfish.role': 'server', 'oarfish.rank': cluster.rank })
  const shared = { store, mode, workers, threads, segments, tracer }
  const server = new ParameterServer({ ...shared, tables, onReset, settleOthers })
  const memoryOf = async (table: number, sign: bigint) =>
    joinMemories([server.updates.memoryOf(table, sign), ...((await shardThreads?.memoriesOf(table, sign)) ?? [])])
  // Of each thread some more: what one has in the middle of its list may be among the first of all.
  const hotOf = async (table: number, most: number) =>
    joinHot([server.hot.of(table, 4 * most), ...((await shardThreads?.hotOf(table, 4 * most)) ?? [])], most)
  const inspector = { store, memoryOf, hotOf, mode, rank: cluster.rank, servers: cluster.servers, placement }
  const inspect = (request: InspectRequest) => inspectStore(inspector, request)
  const localPath = isSockets ? newLocalPath() : undefined
  const lanes = shardThreads?.lanes
  const seen = { inspect, localPath, lanes, pulse, stuckAfterMs: options.requestTimeoutMs }
  const service = serveWorkers({ server, workers, identity, emit, onLost, ...seen })
  failed.listener = service.stop
  const listeners = await listen(options, service, localPath)
  const unhook = stopOn(signal, service, cluster.rank)
  const sayTables = () => emit({ kind: 'tables', step: store.steps, tables: tableSizes(store.params.tables) })
  const timer = setInterval(sayTables, TABLES_MS).unref()
  try {
    await service.done(startTimeoutMs)
  } finally {
    unhook()
    clearInterval(timer)
    sayTables()
    await tracer?.flush()
    await Promise.all([...listeners.map((listener) => listener.close()), shardThreads?.close(), pulse?.close()])
  }
}

function placementOf({ cluster, shards = DEFAULT_SHARDS }: ServeStoreOptions): Placement {
  return { servers: cluster.servers.length, shards, tableServers: cluster.tableServers }
}

/** Further threads of this server, where no step waits for another. */
async function openShardThreads(options: ServeStoreOptions, onFailure: (error: Error) => void) {
  const { cluster, store, mode, threads, identity, emit, serverThreads = 1, transport = socketTransport } = options
  if (mode !== 'async' || serverThreads <= 1 || transport !== socketTransport) return undefined
  const { host } = splitEndpoint(cluster.endpoint)
  const workers = cluster.workerNum
  return ShardThreads.open({ store, count: serverThreads - 1, identity, workers, threads, host, emit, onFailure })
}

/** At the server's endpoint, and for workers of this host at a unix socket. */
async function listen(
  { cluster, mode, emit, identity, transport = socketTransport }: ServeStoreOptions,
  { accept, door }: Pick<WorkerService, 'accept' | 'door'>,
  localPath: string | undefined,
): Promise<Listener[]> {
  const { endpoint, rank, workerNum } = cluster
  const descriptor = cluster.inherited[splitEndpoint(endpoint).port]
  const options = { descriptor, tls: identity.tls, door }
  const listener = await transport.listen(endpoint, accept, options).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(endpoint, error)
  })
  const local = localPath === undefined ? [] : [await transport.listen(localPath, accept)]
  const how = identity.tls ? `${mode}, TLS` : mode
  const message = `server[${rank}] listens at ${listener.endpoint} for ${workerNum} workers (${how})`
  emit({ kind: 'notice', message })
  return [listener, ...local]
}

/** Stops when the signal does: workers are asked to save and leave first. A UserError is its own reason and ends everything at once. Returns what unhooks it. */
function stopOn(
  signal: AbortSignal | undefined,
  service: Pick<WorkerService, 'stop' | 'halt'>,
  rank: number,
): () => void {
  const stopped = new UserError(`server[${rank}] was told to stop`, { code: 'PS_STOPPED' })
  const after = (ms: number) => setTimeout(() => service.stop(stopped), ms).unref()
  const stop = () => {
    if (isUserError(signal?.reason)) service.stop(signal.reason)
    else void service.halt().then((will) => after(will ? SAVE_GRACE_MS : STOP_GRACE_MS))
  }
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  return () => signal?.removeEventListener('abort', stop)
}

function defaultMemoryLimit(): number {
  const container = process.constrainedMemory?.() ?? 0
  return Math.floor(0.9 * (container > 0 ? Math.min(container, totalmem()) : totalmem()))
}

const LISTEN_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there: two servers may have the same endpoint, or an old job still runs',
  EADDRNOTAVAIL: 'this host does not have that address',
  ENOTFOUND: 'there is no host of that name',
  EACCES: 'this user may not open that port',
}

function cannotListen(endpoint: string, cause: NodeJS.ErrnoException): UserError {
  return new UserError(
    `the server cannot listen at ${endpoint}: ${LISTEN_REASONS[cause.code ?? ''] ?? cause.message}`,
    {
      code: 'PS_LISTEN',
      hint: 'check POD_IP, PADDLE_PORT and the list of servers',
      cause,
    },
  )
}
