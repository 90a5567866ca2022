/** @file A server as a process: waits for its trainers to say what it serves, then serves one part of the model at each port. */
import { type Env, namedCluster } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import { fleetIdentity } from '../fleet/index.ts'
import { openStore, serveStore } from '../ps/index.ts'
import { SEGMENTS, SYNC } from './cluster-job.ts'
import { listenHost } from './endpoints.ts'
import { hearTrainers } from './hear-trainers.ts'
import type { TypedTrainerOptions } from './option-table.ts'
import { fillTrainerOptions } from './options.ts'
import { jobEnv, type SetUp } from './set-up.ts'

export interface RunPserverOptions {
  /** Of which nothing is wrong. */
  readonly typed: TypedTrainerOptions
  readonly env: Env
  readonly emit: EventSink
  readonly signal?: AbortSignal
  /** How long trainers may take to come. @default 5 minutes */
  readonly startTimeoutMs?: number
}

/** Resolves when every trainer is done; rejects when a process of the job is gone or fails. */
export async function runPserver(given: RunPserverOptions): Promise<void> {
  const { typed, env, emit, signal = new AbortController().signal, startTimeoutMs } = given
  const options = fillTrainerOptions(typed)
  const host = listenHost(options.nics)
  emit({ kind: 'start', command: 'train', model: 'oarfish pserver', settings: { ...typed } })
  const setUp = await hearTrainers({
    ...{ endpoint: `${host}:${options.port}`, options, env, emit, signal },
    ...(typed.num_gradient_servers !== undefined && { trainers: typed.num_gradient_servers }),
    ...(startTimeoutMs !== undefined && { startTimeoutMs }),
  })
  const failure = new AbortController()
  const serving = setUp.ranks.map((rank, i) =>
    servePart(setUp, rank, `${host}:${options.port + i}`, {
      env,
      emit,
      signal: AbortSignal.any([signal, failure.signal, setUp.lost]),
    }),
  )
  // One part that fails ends the others: each trainer needs all of them.
  for (const part of serving) part.catch(() => failure.abort())
  const ends = await Promise.allSettled(serving)
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed) throw failed.reason
  emit({ kind: 'notice', message: 'All trainers are done.' })
}

async function servePart(
  { model, seed, trainers, servers, tableServers }: SetUp,
  rank: number,
  endpoint: string,
  { env, emit, signal }: { readonly env: Env; readonly emit: EventSink; readonly signal: AbortSignal },
): Promise<void> {
  const tables = tableServers !== undefined && { tableServers }
  const cluster = namedCluster({ role: 'server', rank, servers, workerNum: trainers, endpoint, ...tables }, jobEnv(env))
  const program = { model, seed, segments: SEGMENTS }
  const store = openStore({ cluster, model, seed, mode: SYNC.mode, segments: SEGMENTS })
  const identity = fleetIdentity(cluster, program, SYNC)
  await serveStore({ cluster, store, mode: SYNC.mode, segments: SEGMENTS, threads: 0, identity, emit, signal })
}
