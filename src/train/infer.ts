/** @file Evaluation of saved epochs: each is loaded and run over test_data_dir. */
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Group } from '../collective/index.ts'
import { configErrorAt, explain, type JobConfig, type LoadedConfig } from '../config/index.ts'
import { tellRank } from '../data/index.ts'
import type { EventSink, Metrics } from '../event/index.ts'
import { type GraphMode, loadModelAs, type TracedModel } from '../model/index.ts'
import { isPaddleFolder, type LocalParams, loadPaddleModel } from '../params/index.ts'
import { loadSnapshot, type Manifest, missing, openSnapshot, type Snapshot, savedEpochs } from '../snapshot/index.ts'
import { checkData } from './check-data.ts'
import { shown } from './checkpoint.ts'
import type { PassResult } from './loop.ts'
import type { EngineName } from './messages.ts'
import { agreeOnRanks } from './parallel/rank-input.ts'
import { rankPass } from './parallel/rank-pass.ts'
import { createParams, findDataFiles, Runtime, type RuntimeOptions } from './runtime.ts'

export interface InferOptions {
  readonly config: LoadedConfig
  readonly emit: EventSink
  /** Aborting finishes the steps under way and ends there. */
  readonly signal?: AbortSignal
  /** @default 'ort' */
  readonly engine?: EngineName
  /** Which file the model is: static_model.ts or dygraph_model.ts. @default 'static' */
  readonly mode?: GraphMode
  /** What to evaluate. @default the saved epochs from infer_start_epoch up to infer_end_epoch */
  readonly models?: FindModels
  /** Ranks that evaluate each their part of the data. @default this process alone */
  readonly group?: Group | undefined
}

/** A saved model to evaluate; `key` is the setting that named its folder. */
export interface SavedModel {
  readonly epoch: number
  readonly folder: string
  readonly key: string
}

/** Finds what to evaluate. */
export type FindModels = (config: LoadedConfig, emit: EventSink) => Promise<readonly SavedModel[]>

export interface InferResult {
  /** Metrics of each epoch, in order. */
  readonly epochs: readonly { readonly epoch: number; readonly metrics: Metrics }[]
  readonly samples: number
  readonly seconds: number
  readonly interrupted: boolean
}

/** Evaluates the saved epochs from infer_start_epoch up to, not including, infer_end_epoch. */
export async function infer({
  config: loaded,
  emit,
  signal = new AbortController().signal,
  engine = 'ort',
  mode = 'static',
  models = savedModels,
  group,
}: InferOptions): Promise<InferResult> {
  const started = performance.now()
  const { config } = loaded
  for (const message of loaded.notices) emit({ kind: 'notice', message })
  if (config.runner.test_data_dir === undefined) {
    throw configErrorAt(loaded, 'runner.test_data_dir', 'missing; `oarfish infer` evaluates the data of this folder')
  }
  const files = await findDataFiles(config, ['infer'])
  const model = await loadModelAs(mode, loaded)
  await checkData(loaded, model, files)
  emit({ kind: 'start', command: 'infer', model: config.dir, settings: inferSettings(config) })
  const found = await models(loaded, emit)
  const pass = await passOver({ config, model, files, emit, signal, group })
  const threads = config.runner.infer_thread_num
  const evaluator = new Evaluator({ config, model, files, threads, engine, emit, signal })
  let result: InferResult = { epochs: [], samples: 0, seconds: 0, interrupted: false }
  try {
    for (const [i, saved] of found.entries()) {
      if (signal.aborted || result.interrupted) break
      const { epoch } = saved
      const runtime = await evaluator.load(saved)
      if (i === 0) emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
      const { metrics, samples, seconds, interrupted } = await pass(runtime, epoch)
      result = {
        epochs: [...result.epochs, { epoch, metrics }],
        samples: result.samples + samples,
        seconds: result.seconds + seconds,
        interrupted,
      }
    }
  } finally {
    await evaluator.close()
  }
  const { samples, seconds } = result
  const metrics = result.epochs.at(-1)?.metrics ?? {}
  emit({ kind: 'done', samples, seconds, samplesPerSecond: seconds > 0 ? samples / seconds : 0, metrics })
  return result
}

type Pass = (runtime: Runtime, epoch: number) => Promise<PassResult>

/** Over all the data, or over this rank's part of it; what was measured is then that of all ranks. */
async function passOver({ group, ...options }: PassOverOptions): Promise<Pass> {
  if (!group) return (runtime, epoch) => runtime.pass('infer', epoch)
  const { files, emit, signal } = options
  tellRank(group.rank, group.size)
  const { infer: input } = await agreeOnRanks({ group, ...options })
  const stopped = () => signal.aborted
  return (runtime, epoch) =>
    rankPass({ group, runtime, input, files: files.infer!, stop: () => undefined, stopped, emit }, 'infer', epoch)
}

interface PassOverOptions extends Pick<RuntimeOptions, 'config' | 'model' | 'files' | 'emit' | 'signal'> {
  readonly group: Group | undefined
}

/** Keeps one table and one set of threads for all epochs: each is loaded over the one before, whose rows it mostly shares. */
class Evaluator {
  readonly #options: Omit<RuntimeOptions, 'params'>
  #params: LocalParams | undefined
  #runtime: Runtime | undefined

  constructor(options: Omit<RuntimeOptions, 'params'>) {
    this.#options = options
  }

  async load({ epoch, folder, key }: SavedModel): Promise<Runtime> {
    const { emit } = this.#options
    const isPaddle = await isPaddleFolder(folder)
    const params = isPaddle ? await this.#read(folder) : await this.#fill(await openSnapshot(folder, key))
    emit({ kind: 'loaded', path: shown(folder), epoch })
    this.#runtime ??= await Runtime.open({ ...this.#options, params: params.handle })
    return this.#runtime
  }

  async close(): Promise<void> {
    await this.#runtime?.close()
    this.#runtime = undefined
    this.#params = undefined
  }

  /** Out of Paddle's table files, into parameters that are new: rows of another epoch would stay. */
  async #read(folder: string): Promise<LocalParams> {
    const { config, model, threads } = this.#options
    await this.close()
    this.#params = createParams(config, model, model, threads)
    await loadPaddleModel(this.#params, { folder })
    return this.#params
  }

  /** Parameters with the optimizers of the checkpoint, since rows carry their state; anew when other rows would be left over. */
  async #fill(snapshot: Snapshot): Promise<LocalParams> {
    const { config, model, threads, emit } = this.#options
    const { manifest } = snapshot
    if (this.#params && !sameOptimizers(this.#params, manifest)) await this.close()
    this.#params ??= createParams(config, model, optimizersOf(manifest), threads)
    await loadSnapshot({ snapshot, params: this.#params, emit })
    const leftOver = this.#params.tables.some(
      ({ name, rowCount }) => rowCount !== manifest.tables.find((table) => table.name === name)?.rows,
    )
    if (!leftOver) return this.#params
    await this.close()
    return this.#fill(snapshot)
  }
}

/** What the checkpoint was trained with: rows carry the state of these. */
export function optimizersOf({ dense, tables }: Manifest): Pick<TracedModel, 'optimizer' | 'tableOptimizers'> {
  return {
    optimizer: dense.optimizer,
    tableOptimizers: Object.fromEntries(tables.map(({ name, optimizer }) => [name, optimizer])),
  }
}

function sameOptimizers({ handle }: LocalParams, manifest: Manifest): boolean {
  const { optimizer, tableOptimizers } = optimizersOf(manifest)
  const here = [handle.dense.optimizer, ...handle.tables.map((table) => table.optimizer)]
  const there = [optimizer, ...handle.tables.map(({ name }) => tableOptimizers[name])]
  return JSON.stringify(here) === JSON.stringify(there)
}

/** The saved epochs in the range asked for; those that are missing are named. */
export async function savedModels({ config }: LoadedConfig, emit: EventSink): Promise<readonly SavedModel[]> {
  const { infer_load_path: path, infer_start_epoch: from, infer_end_epoch: to } = config.runner
  const saved = await savedEpochs(path)
  const found = saved.filter((epoch) => epoch >= from && epoch < to)
  if (found.length === 0) throw missing(join(path, String(from)), 'runner.infer_load_path', saved)
  if (found.length < to - from) {
    const message = `runner.infer_start_epoch ${from} to infer_end_epoch ${to}: ${shown(path)} holds ${found.join(', ')} of these.`
    emit({ kind: 'notice', message })
  }
  return found.map((epoch) => ({ epoch, folder: join(path, String(epoch)), key: 'runner.infer_load_path' }))
}

/** What PaddleRec's infer prints first is part of it, whether at its default or not. The number of epochs trained is not. */
export function inferSettings(config: JobConfig): Readonly<Record<string, unknown>> {
  const { 'runner.epochs': _, ...settings } = explain(config)
  const { runner } = config
  return {
    ...settings,
    'runner.infer_batch_size': runner.infer_batch_size,
    'runner.test_data_dir': runner.test_data_dir,
    'runner.infer_start_epoch': runner.infer_start_epoch,
    'runner.infer_end_epoch': runner.infer_end_epoch,
    'runner.infer_load_path': runner.infer_load_path,
  }
}
