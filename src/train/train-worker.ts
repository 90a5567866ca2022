/** @file A worker of a parameter-server job: the same steps as training alone, over weights that live on servers. */
import { performance } from 'node:perf_hooks'
import { type Cluster, explain, isWritten, type LoadedConfig } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import { type GraphMode, loadModelAs } from '../model/index.ts'
import type { Transport } from '../net/index.ts'
import { jobIdentity, psMode, ServerGroup, serverExchange } from '../ps/index.ts'
import type { PassResult } from './loop.ts'
import type { EngineName, Phase } from './messages.ts'
import { type DataFiles, findDataFiles, Runtime } from './runtime.ts'
import type { TrainResult } from './train.ts'
import { agreeOnInput } from './worker-input.ts'
import { openWorkerMode } from './worker-mode.ts'
import { type JobCheckpoints, WorkerModel } from './worker-model.ts'
import { workerPass } from './worker-pass.ts'
import { takesOver } from './worker-split.ts'

export interface TrainWorkerOptions {
  readonly cluster: Cluster
  readonly config: LoadedConfig
  readonly emit: EventSink
  /** Aborting ends the job after the steps under way. */
  readonly signal?: AbortSignal
  /** Goes on from the newest checkpoint in model_save_path, if there is one. @default false */
  readonly resume?: boolean
  readonly engine?: EngineName
  /** Which file the model is: static_model.ts or dygraph_model.ts. @default 'static' */
  readonly mode?: GraphMode
  /** Worker 0 computes TrainResult.digest over what the servers hold. */
  readonly digest?: boolean
  readonly transport?: Transport
  /** How long a live server may take to answer. @default 3 minutes */
  readonly requestTimeoutMs?: number
  /** How long a server may take to come up. @default 5 minutes */
  readonly startTimeoutMs?: number
  /** @default the files of train_data_dir and test_data_dir */
  readonly files?: DataFiles
  /** The training files in the order of an epoch, the same on every worker. @default as they are */
  readonly filesOf?: (epoch: number) => readonly string[]
  /** @default by the keys of `config` */
  readonly checkpoints?: JobCheckpoints
  /** What the start event shows. @default `config`, explained */
  readonly settings?: Readonly<Record<string, unknown>>
}

const DERIVED_TOKEN =
  'OARFISH_JOB_TOKEN is not set: the job is told from others by its server list and worker count, which guards against mix-ups, not against attackers.'

/** Trains its part as the config says; resolves when all workers are done. Rejects, naming it, when a process is gone. */
export async function trainWorker(options: TrainWorkerOptions): Promise<TrainResult> {
  const { cluster, config: loaded, emit, signal = new AbortController().signal, engine = 'ort' } = options
  const started = performance.now()
  const { config } = loaded
  const mode = psMode(config)
  for (const message of loaded.notices) emit({ kind: 'notice', message })
  if (!config.dataset && !isWritten(loaded.source, ['runner', 'sync_mode']))
    emit({ kind: 'notice', message: `runner.sync_mode is not set: ${mode} is used` })
  if (cluster.derivedToken && cluster.rank === 0) emit({ kind: 'notice', message: DERIVED_TOKEN })
  const model = await loadModelAs(options.mode ?? 'static', loaded)
  const job = { role: 'worker', rank: cluster.rank, threads: config.runner.thread_num } as const
  emit({ kind: 'start', command: 'train', model: config.dir, settings: options.settings ?? explain(config), job })
  const lost = { listener: (_: Error) => {} }
  const identity = jobIdentity(cluster, config, model)
  const { requestTimeoutMs } = options
  const servers = await ServerGroup.open({
    servers: cluster.servers,
    identity,
    onNotice: (message) => emit({ kind: 'notice', message }),
    onLost: (error) => lost.listener(error),
    ...(options.transport && { transport: options.transport }),
    ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
    ...(options.startTimeoutMs !== undefined && { startTimeoutMs: options.startTimeoutMs }),
  })
  try {
    const files = options.files ?? (await findDataFiles(config, ['train', 'infer']))
    const parts = await agreeOnInput({ servers, cluster, config, files, emit })
    const strategy = openWorkerMode(mode, {
      ...{ config, model, servers, identity, workers: cluster.workerNum },
      ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
    })
    const { params, pool } = strategy
    const { rank } = cluster
    const { resume = false, checkpoints, filesOf } = options
    const shared = { config, model, emit }
    const whole = new WorkerModel({
      ...shared,
      mode,
      strategy,
      servers,
      rank,
      files: files.train!,
      dataFiles: files,
      resume,
      checkpoints,
    })
    const first = await whole.start()
    const threads = config.runner.thread_num
    const runtime = await Runtime.open({
      ...shared,
      exchange: serverExchange(servers, rank, cluster.workerNum),
      files,
      params,
      pool,
      threads,
      engine,
      signal,
    })
    lost.listener = (error) => runtime.fail(error)
    emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
    try {
      const pass = (phase: Phase, epoch: number) =>
        workerPass(
          {
            ...{ runtime, servers, strategy, part: parts[phase], stopped: () => signal.aborted },
            ...{ emit, takesOver: phase === 'train' && takesOver(mode) },
            ...(phase === 'train' && filesOf && { files: filesOf(epoch) }),
          },
          phase,
          epoch,
        )
      const epochs = { first, last: config.runner.epochs, evaluate: files.infer !== undefined, emit }
      const trained = await runEpochs(pass, whole, epochs)
      const result = { ...trained, ...(options.digest && rank === 0 && { digest: await whole.digest() }) }
      const { interrupted: _, ...summary } = result
      emit({ kind: 'done', ...summary, samplesPerSecond: result.seconds > 0 ? result.samples / result.seconds : 0 })
      await servers.meet('end', null)
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

interface Epochs {
  readonly first: number
  readonly last: number
  readonly evaluate: boolean
  readonly emit: EventSink
}

type WorkerResult = TrainResult & { readonly breakdown: Readonly<Record<string, number>> }

async function runEpochs(
  pass: (phase: Phase, epoch: number) => Promise<PassResult>,
  model: WorkerModel,
  { first, last, evaluate, emit }: Epochs,
): Promise<WorkerResult> {
  let result: WorkerResult = { samples: 0, seconds: 0, metrics: {}, interrupted: false, breakdown: {} }
  for (let epoch = first; epoch < last && !result.interrupted; epoch++) {
    const trained = await pass('train', epoch)
    const { samples, seconds, metrics, interrupted, breakdown } = trained
    result = {
      ...{ metrics, interrupted },
      samples: result.samples + samples,
      seconds: result.seconds + seconds,
      breakdown: addTimes(result.breakdown, breakdown),
    }
    if (interrupted) {
      const path = await model.saveInterrupted(trained)
      emit({ kind: 'interrupted', epoch, batch: trained.lastBatch, samples, ...(path !== undefined && { path }) })
      emit({ kind: 'notice', message: path === undefined ? notSaved(epoch) : savedInside(epoch, path) })
    } else await model.save(epoch, trained)
    if (interrupted || !evaluate) continue
    const evaluated = await pass('infer', epoch)
    result = { ...result, evaluation: evaluated.metrics, interrupted: evaluated.interrupted }
  }
  return result
}

function savedInside(epoch: number, path: string): string {
  return `${path} holds all weights as they are now; where each worker was in epoch ${epoch} is not kept: with --resume that epoch begins anew.`
}

function notSaved(epoch: number): string {
  return `What was learned in epoch ${epoch} is not saved, since runner.model_save_path is empty.`
}

function addTimes(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(b).map(([part, seconds]) => [part, (a[part] ?? 0) + seconds]))
}
