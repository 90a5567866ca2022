/** @file A parameter server as a process: loads the model for its tables and weights, serves workers until all are done. */
import type { LoadedConfig } from '../config/index.ts'
import type { Cluster } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import type { GraphMode } from '../model/index.ts'
import type { Transport } from '../net/index.ts'
import { isHybrid, jobIdentity, psMode, shardsOf } from './job.ts'
import { openStore, serveStore } from './serve-model.ts'

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
  /** Which file the model is: static_model.ts or dygraph_model.ts. @default 'static' */
  readonly mode?: GraphMode
  /** Dense weights are the workers' business. @default as runner.fleet_mode says */
  readonly rowsOnly?: boolean
  /** What the start event shows. @default `config`, explained */
  readonly settings?: Readonly<Record<string, unknown>>
}

/** Resolves when every worker has said good-bye; rejects, naming it, when a process of the job is gone. */
export async function runServer({
  cluster,
  config: loaded,
  emit,
  memoryLimitBytes,
  requestTimeoutMs: _,
  mode: graph = 'static',
  settings,
  rowsOnly = isHybrid(loaded.config),
  ...service
}: RunServerOptions): Promise<void> {
  const { config } = loaded
  const mode = psMode(config)
  // Loaded here: threads that talk to servers load this folder as well, and need neither.
  const [{ explain }, { loadModelAs }] = await Promise.all([import('../config/index.ts'), import('../model/index.ts')])
  const model = await loadModelAs(graph, loaded)
  const { seed, table_segments: segments, thread_num: threads, server_threads: serverThreads } = config.runner
  const job = { role: 'server', rank: cluster.rank, threads } as const
  emit({ kind: 'start', command: 'train', model: config.dir, settings: settings ?? explain(config), job })
  const { server_memory_mb: megabytes } = config.runner
  const bytes = memoryLimitBytes ?? (megabytes === undefined ? undefined : megabytes * 1024 * 1024)
  const limit = bytes === undefined ? {} : { memoryLimitBytes: bytes }
  const tableParameters = config.table_parameters
  const store = openStore({ cluster, model, mode, seed, segments, tableParameters, serverThreads, rowsOnly, ...limit })
  const identity = jobIdentity(cluster, config, model)
  const shards = shardsOf(config, cluster.servers.length)
  await serveStore({ cluster, store, mode, segments, shards, threads, serverThreads, identity, emit, ...service })
}
