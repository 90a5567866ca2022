/** @file A worker of a job that evaluates saved models on parameter servers: worker 0 loads each, all evaluate their part of the data. */
import { performance } from 'node:perf_hooks'
import { configErrorAt, type LoadedConfig } from '../config/index.ts'
import type { Cluster } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import { loadModel, type TracedModel } from '../model/index.ts'
import type { Transport } from '../net/index.ts'
import { isPaddleFolder, loadPaddleModel } from '../params/index.ts'
import { ADDING, jobIdentity, METHODS, type PsMode, psMode, type ServerGroup, scatterParams } from '../ps/index.ts'
import { loadSnapshot, openSnapshot } from '../snapshot/index.ts'
import { fromPlainError, type PlainError, toPlainError } from '../util/index.ts'
import { checkData } from './check-data.ts'
import { shown } from './checkpoint.ts'
import { type FindModels, type InferResult, inferSettings, type SavedModel, savedModels } from './infer.ts'
import type { EngineName } from './messages.ts'
import { openServers } from './open-servers.ts'
import { createParams, findDataFiles, Runtime } from './runtime.ts'
import { agreeOnInput } from './worker-input.ts'
import { openWorkerMode, type WorkerMode } from './worker-mode.ts'
import { workerPass } from './worker-pass.ts'

export interface InferWorkerOptions {
  readonly cluster: Cluster
  readonly config: LoadedConfig
  readonly emit: EventSink
  /** Aborting finishes the steps under way and ends there. */
  readonly signal?: AbortSignal
  readonly engine?: EngineName
  /** What to evaluate. Only worker 0 looks. @default the saved epochs from infer_start_epoch up to infer_end_epoch */
  readonly models?: FindModels
  readonly transport?: Transport
  readonly requestTimeoutMs?: number
  readonly startTimeoutMs?: number
}

/** Evaluates each saved model over all workers; resolves when all are done. Rejects, naming it, when a process is gone. */
export async function inferWorker(options: InferWorkerOptions): Promise<InferResult> {
  const { cluster, config: loaded, emit, signal = new AbortController().signal, engine = 'ort' } = options
  const started = performance.now()
  const { config } = loaded
  const mode = psMode(config)
  for (const message of loaded.notices) emit({ kind: 'notice', message })
  if (config.runner.test_data_dir === undefined)
    throw configErrorAt(loaded, 'runner.test_data_dir', 'missing; this is the folder that is evaluated')
  const model = await loadModel(loaded)
  const threads = config.runner.infer_thread_num
  const job = { role: 'worker', rank: cluster.rank, threads } as const
  emit({ kind: 'start', command: 'infer', model: config.dir, settings: inferSettings(config), job })
  const lost = { listener: (_: Error) => {} }
  const identity = jobIdentity(cluster, config, model)
  const { requestTimeoutMs, startTimeoutMs, transport, models = savedModels } = options
  const timeout = requestTimeoutMs === undefined ? {} : { requestTimeoutMs }
  const servers = await openServers(
    {
      ...{ servers: cluster.servers, identity, ...timeout },
      onNotice: (message) => emit({ kind: 'notice', message }),
      onLost: (error) => lost.listener(error),
      ...(transport && { transport }),
      ...(startTimeoutMs !== undefined && { startTimeoutMs }),
    },
    signal,
  )
  try {
    const files = await findDataFiles(config, ['infer'])
    await checkData(loaded, model, files)
    const parts = await agreeOnInput({ servers, cluster, config, files, emit })
    const { workerNum: workers } = cluster
    const strategy = openWorkerMode(mode, { config, model, servers, identity, workers, ...timeout })
    const { params, pool } = strategy
    const runtime = await Runtime.open({ config, model, emit, files, params, pool, threads, engine, signal })
    lost.listener = (error) => runtime.fail(error)
    const together = new Together(servers, cluster.rank)
    let result: InferResult = { epochs: [], samples: 0, seconds: 0, interrupted: false }
    try {
      const found = await together.first('choosing models', () => models(loaded, emit))
      emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
      const pass = { runtime, servers, strategy, part: parts.infer, stopped: () => signal.aborted, emit }
      for (const saved of found) {
        if (result.interrupted) break
        await together.first(`loading of epoch ${saved.epoch}`, () =>
          give({ saved, servers, strategy, loaded, model, mode, emit }),
        )
        emit({ kind: 'loaded', path: shown(saved.folder), epoch: saved.epoch })
        const { metrics, samples, seconds, interrupted } = await workerPass(pass, 'infer', saved.epoch)
        result = {
          epochs: [...result.epochs, { epoch: saved.epoch, metrics }],
          samples: result.samples + samples,
          seconds: result.seconds + seconds,
          interrupted,
        }
      }
      const { samples, seconds } = result
      const metrics = result.epochs.at(-1)?.metrics ?? {}
      emit({ kind: 'done', samples, seconds, samplesPerSecond: seconds > 0 ? samples / seconds : 0, metrics })
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

interface Giving {
  readonly saved: SavedModel
  readonly servers: ServerGroup
  readonly strategy: WorkerMode
  readonly loaded: LoadedConfig
  readonly model: TracedModel
  readonly mode: PsMode
  readonly emit: EventSink
}

/** Loads a saved model and gives it to the servers, which forget the one before: its rows would count where this one has none. */
async function give({ saved, servers, strategy, loaded, model, mode, emit }: Giving): Promise<void> {
  const rules = mode === 'geo' ? { optimizer: ADDING, tableOptimizers: {} } : model
  const params = createParams(loaded.config, model, rules, 0)
  const { folder, key } = saved
  if (await isPaddleFolder(folder)) await loadPaddleModel(params, { folder })
  else await loadSnapshot({ snapshot: await openSnapshot(folder, key), params, emit, otherOptimizer: 'weights' })
  await servers.requestAll(METHODS.reset, [], 'reset()')
  await scatterParams(servers, strategy.slices, strategy.placement, params)
}

/** What worker 0 does for all: its result, or its failure, is everyone's. */
class Together {
  readonly #servers: ServerGroup
  readonly #rank: number

  constructor(servers: ServerGroup, rank: number) {
    this.#servers = servers
    this.#rank = rank
  }

  async first<T>(name: string, work: () => Promise<T>): Promise<T> {
    const own: Outcome<T> | null =
      this.#rank > 0
        ? null
        : await work().then(
            (value) => ({ value }),
            (error: unknown) => ({ error: toPlainError(error) }),
          )
    const [outcome] = await this.#servers.meet(name, own)
    if (outcome && 'error' in outcome) throw fromPlainError(outcome.error)
    return outcome!.value
  }
}

type Outcome<T> = { readonly value: T } | { readonly error: PlainError }
