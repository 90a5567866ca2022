/** @file A server's weights and their service: opened from a model, served until every worker is done. Knows no configuration file. */
import { totalmem } from 'node:os'
import type { Cluster } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import type { TracedModel } from '../model/index.ts'
import { type Identity, newLocalPath, socketTransport, splitEndpoint, type Transport } from '../net/index.ts'
import { denseLayout } from '../params/index.ts'
import { refuseAccessors, type TablesParameters } from '../table/index.ts'
import { isUserError, UserError } from '../util/index.ts'
import { ADDING } from './geo-changes.ts'
import { type InspectRequest, inspectStore } from './inspect.ts'
import { KernelStore } from './kernel-store.ts'
import { DEFAULT_SHARDS, denseSlices } from './placement.ts'
import { serveWorkers } from './serve-workers.ts'
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
  readonly tableParameters?: TablesParameters
  /** New rows are refused when tables take more. @default 90 % of the memory of the host or container */
  readonly memoryLimitBytes?: number
  /** Threads that will serve from it. @default 1 */
  readonly serverThreads?: number
  /** No dense weights: workers keep them among themselves. @default false */
  readonly rowsOnly?: boolean
}

/** This server's part of a model, at its initial values. */
export function openStore(options: OpenStoreOptions): KernelStore {
  const {
    cluster,
    model,
    mode,
    seed,
    segments,
    memoryLimitBytes = defaultMemoryLimit(),
    serverThreads = 1,
    tableParameters = {},
    rowsOnly = false,
  } = options
  const { train: program, optimizer, tableOptimizers } = model
  const floats = rowsOnly ? 0 : denseLayout(program, optimizer).floats
  const slice = denseSlices(floats, cluster.servers.length, cluster.tableServers)[cluster.rank]!
  if (mode === 'geo') refuseAccessors(program.tables, tableParameters)
  const rules =
    mode === 'geo' ? { optimizer: ADDING, plainTables: true } : { optimizer, tableOptimizers, tableParameters }
  const who = `server[${cluster.rank}] ${cluster.endpoint}`
  return new KernelStore({ program, ...rules, seed, segments, slice, memoryLimitBytes, serverThreads, who })
}

export interface ServeStoreOptions {
  readonly cluster: Cluster
  readonly store: KernelStore
  readonly mode: PsMode
  readonly segments: number
  /** Into how many shards signs are dealt. @default 1000 */
  readonly shards?: number
  /** Trainer threads of each worker; 0: each says so when it joins. */
  readonly threads: number
  /** Threads of this server that serve pulls and pushes; only in async, where no step waits for another. @default 1 */
  readonly serverThreads?: number
  readonly identity: Identity
  readonly emit: EventSink
  /**
   * Aborting gives workers, which mostly are told to stop as well, a moment to leave; then the server ends without them. With a
   * UserError as its reason everybody is told that, at once.
   */
  readonly signal?: AbortSignal
  readonly transport?: Transport
  /** How long workers may take to come up. @default 5 minutes */
  readonly startTimeoutMs?: number
  /** A worker is gone without a good-bye: what to end with, or undefined to go on without it. @default ends with the error */
  readonly onLost?: (rank: number, error: Error) => Error | undefined
}

const START_TIMEOUT_MS = 5 * 60 * 1000
const STOP_GRACE_MS = 3000

/** Resolves when every worker has said good-bye; rejects, naming it, when a process of the job is gone. */
export async function serveStore(options: ServeStoreOptions): Promise<void> {
  const { cluster, store, mode, segments, threads, identity, emit, startTimeoutMs = START_TIMEOUT_MS } = options
  const { signal = new AbortController().signal, transport = socketTransport, shards = DEFAULT_SHARDS } = options
  const { endpoint, workerNum: workers } = cluster
  const { tableServers } = cluster
  const placement = { servers: cluster.servers.length, shards, ...(tableServers !== undefined && { tableServers }) }
  const tasks = new TableTasks(store, placement, cluster.rank)
  const tables = (body: Uint8Array) => tasks.handle(body)
  const { serverThreads = 1 } = options
  const failed = { listener: (_: Error) => {} }
  const shardThreads =
    mode === 'async' && serverThreads > 1 && transport === socketTransport
      ? await ShardThreads.open({
          ...{ store, count: serverThreads - 1, identity, workers, threads, emit },
          host: splitEndpoint(endpoint).host,
          onFailure: (error) => failed.listener(error),
        })
      : undefined
  const onReset = async () => shardThreads?.attach(store)
  const server = new ParameterServer({ store, mode, workers, threads, segments, tables, onReset })
  const descriptor = cluster.inherited[splitEndpoint(endpoint).port]
  const localPath = transport === socketTransport ? newLocalPath() : undefined
  const memoryOf = async (table: number, sign: bigint) =>
    joinMemories([server.updates.memoryOf(table, sign), ...((await shardThreads?.memoriesOf(table, sign)) ?? [])])
  const inspector = { store, memoryOf, mode, rank: cluster.rank, servers: cluster.servers, placement }
  const inspect = (request: InspectRequest) => inspectStore(inspector, request)
  const { onLost } = options
  const service = serveWorkers({
    ...{ server, workers, identity, emit, inspect },
    ...(localPath && { localPath }),
    ...(onLost && { onLost }),
    ...(shardThreads && { lanes: shardThreads.lanes }),
  })
  failed.listener = service.stop
  const listener = await transport
    .listen(endpoint, service.accept, descriptor === undefined ? {} : { descriptor })
    .catch((error: NodeJS.ErrnoException) => {
      throw cannotListen(endpoint, error)
    })
  const local = localPath === undefined ? undefined : await transport.listen(localPath, service.accept)
  emit({
    kind: 'notice',
    message: `server[${cluster.rank}] listens at ${listener.endpoint} for ${workers} workers (${mode})`,
  })
  const stopped = new UserError(`server[${cluster.rank}] was told to stop`, { code: 'PS_STOPPED' })
  const stop = () => {
    if (isUserError(signal.reason)) service.stop(signal.reason)
    else setTimeout(() => service.stop(stopped), STOP_GRACE_MS).unref()
  }
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    await service.done(startTimeoutMs)
  } finally {
    signal.removeEventListener('abort', stop)
    await Promise.all([listener.close(), local?.close(), shardThreads?.close()])
  }
}

function defaultMemoryLimit(): number {
  const container = process.constrainedMemory?.() ?? 0
  return 0.9 * (container > 0 ? Math.min(container, totalmem()) : totalmem())
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
