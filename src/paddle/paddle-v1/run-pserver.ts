/** @file A server as a process: waits for its trainers to say what it serves, then serves one part of the model at each port. */
import { type Env, jobSecrets, namedCluster, psFlags, tokenWarning } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { openStore, serveStore } from '../../training/ps/index.ts'
import { fleetIdentity } from '../fleet/index.ts'
import { SEGMENTS, SYNC } from './cluster-job.ts'
import { listenHost } from './endpoints.ts'
import type { TypedTrainerOptions } from './option-table.ts'
import { fillTrainerOptions } from './options.ts'
import { jobEnv, type SetUp } from './set-up.ts'
import { awaitTrainers } from './set-up-server.ts'

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
  const endpoint = `${host}:${options.port}`
  const secrets = jobSecrets(jobEnv(env), { servers: [], workerNum: 0 })
  const message = tokenWarning(secrets, secrets.hosts !== undefined)
  if (message) emit({ kind: 'warning', message })
  const trainers = typed.num_gradient_servers
  const setUp = await awaitTrainers({ endpoint, trainers, options, env, emit, signal, startTimeoutMs })
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
  const named = { role: 'server', rank, servers, workerNum: trainers, endpoint, tableServers } as const
  const cluster = namedCluster(named, jobEnv(env))
  const program = { model, seed, segments: SEGMENTS }
  const store = openStore({ cluster, model, seed, mode: SYNC.mode, segments: SEGMENTS })
  const identity = fleetIdentity(cluster, program, SYNC)
  const served = { cluster, store, mode: SYNC.mode, segments: SEGMENTS, threads: 0, identity }
  await serveStore({ ...served, emit, signal, ...psFlags(env) })
}
