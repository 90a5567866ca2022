/** @file A worker of a parameter-server job: the same steps as training alone, over weights that live on servers. */
import { performance } from 'node:perf_hooks'
import type { Group } from '../collective/index.ts'
import { explain, isWritten, type LoadedConfig } from '../config/index.ts'
import type { Cluster } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import { type GraphMode, loadModelAs, type TracedModel } from '../model/index.ts'
import type { Transport } from '../net/index.ts'
import { isHybrid, jobIdentity, psMode, serverExchange } from '../ps/index.ts'
import { toldInterrupted } from './checkpoint.ts'
import type { PassResult } from './loop.ts'
import type { EngineName, Phase } from './messages.ts'
import { openServers } from './open-servers.ts'
import { hybridMode, openWorkers } from './parallel/hybrid-mode.ts'
import { rankSeed } from './parallel/ranks.ts'
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
  /** Gets the model once it is traced. */
  readonly onModel?: (model: TracedModel) => void
  /** What the start event shows. @default `config`, explained */
  readonly settings?: Readonly<Record<string, unknown>>
}

const DERIVED_TOKEN =
  'OARFISH_JOB_TOKEN is not set: the job is told from others by its server list and worker count, which guards against mix-ups, not against attackers.'

/** Trains its part as the config says; resolves when all workers are done. Rejects, naming it, when a process is gone. */
export async function trainWorker(options: TrainWorkerOptions): Promise<TrainResult> {
  const { cluster, config: loaded, emit, engine = 'ort' } = options
  const stop = new AbortController()
  options.signal?.addEventListener('abort', () => stop.abort(), { once: true })
  if (options.signal?.aborted) stop.abort()
  const { signal } = stop
  const started = performance.now()
  const { config } = loaded
  const mode = psMode(config)
  const hybrid = isHybrid(config)
  const notice = (message: string) => emit({ kind: 'notice', message })
  for (const message of loaded.notices) notice(message)
  if (!config.dataset && !isWritten(loaded.source, ['runner', 'sync_mode']))
    notice(`runner.sync_mode is not set: ${mode} is used`)
  if (cluster.derivedToken && cluster.rank === 0) notice(DERIVED_TOKEN)
  const model = await loadModelAs(options.mode ?? 'static', loaded)
  options.onModel?.(model)
  // Dense weights that workers step together are each worker's own, of one thread.
  const threads = hybrid ? 1 : config.runner.thread_num
  const job = { role: 'worker', rank: cluster.rank, threads } as const
  emit({ kind: 'start', command: 'train', model: config.dir, settings: options.settings ?? explain(config), job })
  const lost = { listener: (_: Error) => {} }
  const identity = jobIdentity(cluster, config, model)
  const { requestTimeoutMs } = options
  const servers = await openServers(
    {
      servers: cluster.servers,
      identity,
      onNotice: notice,
      onLost: (error) => lost.listener(error),
      ...(options.transport && { transport: options.transport }),
      ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
      ...(options.startTimeoutMs !== undefined && { startTimeoutMs: options.startTimeoutMs }),
    },
    options.signal,
  )
  let group: Group | undefined
  let runtime: Runtime | undefined
  try {
    if (hybrid) group = await openWorkers(cluster, config.runner.thread_num, notice)
    const files = options.files ?? (await findDataFiles(config, ['train', 'infer']))
    const parts = await agreeOnInput({ servers, cluster, config, files, emit })
    const reached = {
      ...{ config, model, servers, identity, workers: cluster.workerNum },
      ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
    }
    const strategy = group ? hybridMode(reached, group) : openWorkerMode(mode, reached)
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
    await strategy.begin()
    const trainers = await Runtime.open({
      ...shared,
      exchange: serverExchange(servers, rank, cluster.workerNum),
      files,
      params,
      pool,
      threads,
      engine,
      signal,
      ...(hybrid && { seed: rankSeed(config.runner.seed, rank) }),
    })
    runtime = trainers
    lost.listener = (error) => trainers.fail(error)
    emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
    const pass = (phase: Phase, epoch: number) =>
      workerPass(
        {
          ...{ runtime: trainers, servers, strategy, part: parts[phase], stopped: () => signal.aborted },
          ...{ emit, stop: () => stop.abort(), takesOver: phase === 'train' && !hybrid && takesOver(mode) },
          ...{ tellsTotal: phase === 'train' && epoch === first && !parts.isCounted },
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
    await group?.close()
    return result
  } catch (error) {
    servers.abort(error as Error)
    // Threads that wait for other workers end with their group.
    await group?.close(error as Error).catch(() => undefined)
    throw error
  } finally {
    await runtime?.close()
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
      emit({ kind: 'notice', message: toldInterrupted(epoch, path) })
    } else await model.save(epoch, trained)
    if (interrupted || !evaluate) continue
    const evaluated = await pass('infer', epoch)
    result = { ...result, evaluation: evaluated.metrics, interrupted: evaluated.interrupted }
  }
  return result
}

function addTimes(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(b).map(([part, seconds]) => [part, (a[part] ?? 0) + seconds]))
}
