/** @file A worker of a parameter-server job: the same steps as training alone, over weights that live on servers. */
import { performance } from 'node:perf_hooks'
import { MessageChannel } from 'node:worker_threads'
import { type Cluster, explain, type LoadedConfig } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import { loadModel } from '../model/index.ts'
import type { Transport } from '../net/index.ts'
import { denseLayout } from '../params/index.ts'
import {
  denseSlices,
  gatherDigest,
  jobIdentity,
  METHODS,
  type PsMode,
  psMode,
  type RemoteParamsHandle,
  ServerGroup,
  serveThread,
  shardsOf,
} from '../ps/index.ts'
import type { PassResult } from './loop.ts'
import type { EngineName, Phase } from './messages.ts'
import { findDataFiles, Runtime } from './runtime.ts'
import { mergeMeters, type PlainMeter, plainMeter } from './together.ts'
import type { TrainResult } from './train.ts'
import { agreeOnInput } from './worker-input.ts'

export interface TrainWorkerOptions {
  readonly cluster: Cluster
  readonly config: LoadedConfig
  readonly emit: EventSink
  readonly signal?: AbortSignal
  readonly engine?: EngineName
  /** Worker 0 computes TrainResult.digest over what the servers hold. */
  readonly digest?: boolean
  readonly transport?: Transport
  /** How long a live server may take to answer. @default 3 minutes */
  readonly requestTimeoutMs?: number
  /** How long a server may take to come up. @default 5 minutes */
  readonly startTimeoutMs?: number
}

/** Sync and half_async make steps together; async asks for the next batch's weights while it computes one. */
const TOGETHER: readonly PsMode[] = ['sync', 'half_async']

export async function trainWorker(options: TrainWorkerOptions): Promise<TrainResult> {
  const { cluster, config: loaded, emit, signal = new AbortController().signal, engine = 'ort' } = options
  const started = performance.now()
  const { config } = loaded
  const mode = psMode(config)
  for (const message of loaded.notices) emit({ kind: 'notice', message })
  const model = await loadModel(loaded)
  emit({ kind: 'start', command: 'train', model: config.dir, settings: explain(config) })
  const lost = { listener: (_: Error) => {} }
  const servers = await ServerGroup.open({
    servers: cluster.servers,
    identity: jobIdentity(cluster, config, model),
    onNotice: (message) => emit({ kind: 'notice', message }),
    onLost: (error) => lost.listener(error),
    ...(options.transport && { transport: options.transport }),
    ...(options.requestTimeoutMs !== undefined && { requestTimeoutMs: options.requestTimeoutMs }),
    ...(options.startTimeoutMs !== undefined && { startTimeoutMs: options.startTimeoutMs }),
  })
  try {
    const files = await findDataFiles(config, ['train', 'infer'])
    const part = await agreeOnInput({ servers, cluster, config, files, emit })
    const layout = denseLayout(model.train, model.optimizer)
    const slices = denseSlices(layout.floats, servers.size)
    const placement = { servers: servers.size, shards: shardsOf(config, servers.size) }
    const { thread_num: threads, table_segments: segments } = config.runner
    const together = TOGETHER.includes(mode)
    const params = (thread: number): RemoteParamsHandle => {
      const { port1, port2 } = new MessageChannel()
      serveThread(port1, servers)
      return { kind: 'remote', port: port2, thread, layout, slices, segments, placement, pullsAhead: together ? 0 : 1 }
    }
    const pool = { inTurn: together, ahead: together ? 2 : 3 }
    const runtime = await Runtime.open({ config, model, files, params, pool, threads, engine, emit, signal })
    lost.listener = (error) => runtime.fail(error)
    emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
    try {
      const pass = (phase: Phase, epoch: number) => workerPass(runtime, servers, phase, epoch, part)
      const { epochs } = config.runner
      const withDigest = async (result: WorkerResult): Promise<WorkerResult> => {
        const tables = model.train.tables.map(({ name }) => name)
        if (!options.digest || cluster.rank > 0) return result
        return { ...result, digest: await gatherDigest(servers, slices, tables) }
      }
      const result = await withDigest(await runEpochs(pass, epochs, files.infer !== undefined))
      const { interrupted, ...summary } = result
      if (interrupted) emit({ kind: 'interrupted', epoch: -1, batch: -1, samples: result.samples })
      emit({ kind: 'done', ...summary, samplesPerSecond: result.seconds > 0 ? result.samples / result.seconds : 0 })
      servers.close()
      return result
    } finally {
      await runtime.close()
    }
  } catch (error) {
    servers.abort(error as Error)
    throw error
  }
}

type WorkerPass = (phase: Phase, epoch: number) => Promise<PassResult>

interface WorkerResult extends TrainResult {
  readonly breakdown: Readonly<Record<string, number>>
}

async function runEpochs(pass: WorkerPass, epochs: number, evaluate: boolean): Promise<WorkerResult> {
  let result: WorkerResult = { samples: 0, seconds: 0, metrics: {}, interrupted: false, breakdown: {} }
  for (let epoch = 0; epoch < epochs && !result.interrupted; epoch++) {
    const { samples, seconds, metrics, interrupted, breakdown } = await pass('train', epoch)
    result = {
      ...{ metrics, interrupted },
      samples: result.samples + samples,
      seconds: result.seconds + seconds,
      breakdown: addTimes(result.breakdown, breakdown),
    }
    if (interrupted || !evaluate) continue
    const evaluated = await pass('infer', epoch)
    result = { ...result, evaluation: evaluated.metrics, interrupted: evaluated.interrupted }
  }
  return result
}

function addTimes(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(b).map(([part, seconds]) => [part, (a[part] ?? 0) + seconds]))
}

/** One phase of one epoch on all workers: they begin together and add up what they have measured. */
async function workerPass(
  runtime: Runtime,
  servers: ServerGroup,
  phase: Phase,
  epoch: number,
  part: Readonly<Record<Phase, { readonly index: number; readonly count: number } | undefined>>,
): Promise<PassResult> {
  const name = `epoch ${epoch}, ${phase}`
  await servers.requestAll(METHODS.join, [], `join(${name})`)
  await servers.meet(`begin of ${name}`, null)
  const share = part[phase]
  const trained = await runtime.pass(phase, epoch, undefined, {
    ...(share && { part: share }),
    together: async (own) => {
      // Steps of the others go on without this worker.
      await servers.requestAll(METHODS.leave, [], `leave(${name})`)
      const all = await servers.meet<PlainMeter>(`end of ${name}`, plainMeter(own))
      return mergeMeters(all)
    },
  })
  return trained
}
