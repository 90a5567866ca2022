/** @file A parameter server as a process: loads the model for its tables and weights, serves workers until all are done. */
import { totalmem } from 'node:os'
import { type Cluster, explain, type LoadedConfig } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import { loadModel } from '../model/index.ts'
import { socketTransport, splitEndpoint, type Transport } from '../net/index.ts'
import { denseLayout } from '../params/index.ts'
import { UserError } from '../util/index.ts'
import { ADDING } from './geo-changes.ts'
import { jobIdentity, psMode } from './job.ts'
import { KernelStore } from './kernel-store.ts'
import { newLocalPath } from './local-path.ts'
import { denseSlices } from './placement.ts'
import { serveWorkers } from './serve-workers.ts'
import { ParameterServer } from './server.ts'

export interface RunServerOptions {
  readonly cluster: Cluster
  readonly config: LoadedConfig
  readonly emit: EventSink
  /** Aborting gives workers, which mostly are told to stop as well, a moment to leave; then the server ends without them. */
  readonly signal?: AbortSignal
  readonly transport?: Transport
  /** New rows are refused when tables take more. @default 90 % of the memory of the host or container */
  readonly memoryLimitBytes?: number
  /** How long workers may take to come up. @default 5 minutes */
  readonly startTimeoutMs?: number
  /** Of workers; a server asks nobody. */
  readonly requestTimeoutMs?: number
  /** What the start event shows. @default `config`, explained */
  readonly settings?: Readonly<Record<string, unknown>>
}

const START_TIMEOUT_MS = 5 * 60 * 1000
const STOP_GRACE_MS = 3000

/** Resolves when every worker has said good-bye; rejects, naming it, when a process of the job is gone. */
export async function runServer({
  cluster,
  config: loaded,
  emit,
  signal = new AbortController().signal,
  transport = socketTransport,
  memoryLimitBytes = defaultMemoryLimit(),
  startTimeoutMs = START_TIMEOUT_MS,
  settings = explain(loaded.config),
}: RunServerOptions): Promise<void> {
  const { config } = loaded
  const mode = psMode(config)
  const model = await loadModel(loaded)
  const job = { role: 'server', rank: cluster.rank, threads: config.runner.thread_num } as const
  emit({ kind: 'start', command: 'train', model: config.dir, settings, job })
  const { train: program, optimizer, tableOptimizers } = model
  const { seed, table_segments: segments, thread_num: threads } = config.runner
  const layout = denseLayout(program, optimizer)
  const slice = denseSlices(layout.floats, cluster.servers.length)[cluster.rank]!
  const rules = mode === 'geo' ? { optimizer: ADDING } : { optimizer, tableOptimizers }
  const store = new KernelStore({ program, ...rules, seed, segments, slice, memoryLimitBytes })
  const server = new ParameterServer({ store, mode, workers: cluster.workerNum, threads, segments })
  const { endpoint, workerNum: workers } = cluster
  const descriptor = cluster.inherited[splitEndpoint(endpoint).port]
  const localPath = transport === socketTransport ? newLocalPath() : undefined
  const identity = jobIdentity(cluster, config, model)
  const service = serveWorkers({ server, workers, identity, emit, ...(localPath && { localPath }) })
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
    setTimeout(() => service.stop(stopped), STOP_GRACE_MS).unref()
  }
  signal.addEventListener('abort', stop)
  try {
    await service.done(startTimeoutMs)
  } finally {
    signal.removeEventListener('abort', stop)
    await Promise.all([listener.close(), local?.close()])
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
