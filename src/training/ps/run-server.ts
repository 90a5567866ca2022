/** @file A parameter server as a process: loads the model for its tables and weights, serves workers until all are done. */
import type { LoadedConfig } from '../../base/config/index.ts'
import type { Cluster } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import type { Transport } from '../../base/net/index.ts'
import type { GraphMode } from '../../model/index.ts'
import { tierFolder } from '../../weights/params/index.ts'
import { isHybrid, jobIdentity, psMode, shardsOf } from './job.ts'
import { batchesInStep, scaledModel } from './large-steps.ts'
import { openStore, serveStore } from './serve-model.ts'

export interface RunServerOptions {
  readonly cluster: Cluster
  readonly config: LoadedConfig
  readonly emit: EventSink
  /** Aborting asks workers to save together and to leave. */
  readonly signal?: AbortSignal | undefined
  readonly transport?: Transport | undefined
  /** New rows are refused when tables take more. @default 90 % of the memory of the host or container */
  readonly memoryLimitBytes?: number | undefined
  /** How long workers may take to come up. @default 5 minutes */
  readonly startTimeoutMs?: number | undefined
  /** How long a worker whose process lives may not run. @default 3 minutes */
  readonly requestTimeoutMs?: number | undefined
  /** Which graph of the model: one for all batches, or one a batch. @default 'static' */
  readonly mode?: GraphMode | undefined
  /** Dense weights are the workers' business. @default as runner.fleet_mode says */
  readonly rowsOnly?: boolean | undefined
  /** What the start event shows. @default `config`, explained */
  readonly settings?: Readonly<Record<string, unknown>> | undefined
}

/** Resolves when every worker has said good-bye; rejects, naming it, when a process of the job is gone. */
export async function runServer({
  cluster,
  config: loaded,
  emit,
  memoryLimitBytes,
  mode: graph = 'static',
  settings,
  rowsOnly = isHybrid(loaded.config),
  ...service
}: RunServerOptions): Promise<void> {
  const { config } = loaded
  const mode = psMode(config)
  // Loaded here: threads that talk to servers load this folder as well, and need neither.
  const [{ explain }, { loadModelAs }] = await Promise.all([
    import('../../base/config/index.ts'),
    import('../../model/index.ts'),
  ])
  const model = scaledModel(await loadModelAs(graph, loaded), config, batchesInStep(cluster, config))
  const { seed, table_segments: segments, thread_num: threads, server_threads: serverThreads } = config.runner
  const job = { role: 'server', rank: cluster.rank, threads } as const
  emit({ kind: 'start', command: 'train', model: config.dir, settings: settings ?? explain(config), job })
  const { server_memory_mb: megabytes } = config.runner
  const limit = memoryLimitBytes ?? (megabytes === undefined ? undefined : megabytes * 1024 * 1024)
  const tableParameters = config.table_parameters
  const shared = { cluster, mode, segments, serverThreads }
  const { geo_delta: geoDelta } = config.runner
  const store = openStore({
    ...shared,
    model,
    seed,
    tableParameters,
    rowsOnly,
    geoDelta,
    memoryLimitBytes: limit,
    tierFolder: tierFolder(config.runner),
  })
  const identity = jobIdentity(cluster, config, model)
  const shards = shardsOf(config, cluster.servers.length)
  await serveStore({ ...shared, store, shards, threads, identity, emit, ...service })
}
