/** @file What the mode means for a worker: how its threads reach weights, how batches are dealt to them, what happens between batches. */
import { MessageChannel } from 'node:worker_threads'
import type { JobConfig } from '../config/index.ts'
import type { TracedModel } from '../model/index.ts'
import { createLocalParams, denseLayout } from '../params/index.ts'
import {
  denseSlices,
  GeoExchange,
  type GeoParamsHandle,
  type Placement,
  type PsMode,
  type RemoteParamsHandle,
  type ServerGroup,
  type Slice,
  serveThread,
  shardsOf,
} from '../ps/index.ts'
import type { Runtime } from './runtime.ts'
import type { TrainerPoolOptions } from './trainer-pool.ts'

export interface WorkerMode {
  readonly slices: readonly Slice[]
  readonly placement: Placement
  readonly pool: TrainerPoolOptions
  /** A trainer thread's way to the weights. */
  params(thread: number): RemoteParamsHandle | GeoParamsHandle
  /** What to do once batch `index` and all before it are trained; undefined: nothing. */
  afterBatch(runtime: Runtime, index: number): (() => Promise<void>) | undefined
  /** Everything this worker has learned is on the servers when this returns. */
  settle(runtime: Runtime): Promise<void>
}

export interface WorkerModeOptions {
  readonly config: JobConfig
  readonly model: TracedModel
  readonly servers: ServerGroup
  readonly workers: number
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

function remoteMode({ config, model, servers }: WorkerModeOptions, pullsAhead: 0 | 1): WorkerMode {
  const layout = denseLayout(model.train, model.optimizer)
  const slices = denseSlices(layout.floats, servers.size)
  const placement = { servers: servers.size, shards: shardsOf(config, servers.size) }
  const { table_segments: segments } = config.runner
  return {
    ...{ slices, placement, pool: {} },
    params: (thread): RemoteParamsHandle => {
      const { port1, port2 } = new MessageChannel()
      serveThread(port1, servers)
      return { kind: 'remote', port: port2, thread, layout, slices, segments, placement, pullsAhead }
    },
    afterBatch: () => undefined,
    settle: async () => undefined,
  }
}

/** Dense weights, which every batch changes, drift apart sooner than rows: they are exchanged more often. */
const GEO_DENSE_STEP = 5

/** Each worker trains a copy of its own and exchanges changed rows every geo_step batches. */
function geoMode(options: WorkerModeOptions): WorkerMode {
  const { config, model, servers, workers } = options
  const { thread_num: threads, table_segments: segments, seed, geo_step } = config.runner
  const { train: program, optimizer, tableOptimizers } = model
  const remote = remoteMode(options, 0)
  const { placement, slices } = remote
  const local = createLocalParams({ program, optimizer, tableOptimizers, seed, segments, threads: threads + 2 })
  const exchange = new GeoExchange({
    ...{ program, seed, segments, local, thread: threads, placement, slices, workers },
    call: (server, method, body, what) => servers.request(server, method, [body], what),
  })
  const run = async (runtime: Runtime) => exchange.run(await runtime.touched())
  return {
    ...remote,
    params: (thread) => ({ kind: 'geo', local, remote: remote.params(thread) as RemoteParamsHandle }),
    afterBatch: (runtime, index) => {
      if ((index + 1) % geo_step === 0) return () => run(runtime)
      return (index + 1) % GEO_DENSE_STEP === 0 ? () => exchange.run([]) : undefined
    },
    settle: async (runtime) => exchange.settle(await runtime.touched()),
  }
}
