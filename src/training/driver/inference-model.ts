/** @file Models for inference: written after each epoch where the config asks for it, or from a checkpoint by `oarfish export`. */
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { JobConfig, LoadedConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import type { FolderLock } from '../../base/fs/index.ts'
import { shown, UserError } from '../../base/util/index.ts'
import { batchColumns, joinColumns, openReader, readRawRecords } from '../../data/index.ts'
import {
  type ExportManifest,
  type ExportPlan,
  INFERENCE_FOLDER,
  planExport,
  refuseToReplace,
  writeExport,
} from '../../inference/export/index.ts'
import { loadModel, type TracedModel } from '../../model/index.ts'
import { type LocalParams, throughTiers } from '../../weights/params/index.ts'
import {
  type EpochsFile,
  type LoadOptions,
  loadSnapshot,
  openSnapshot,
  readEpochs,
  savedEpochs,
} from '../../weights/snapshot/index.ts'
import { createParams, type DataFiles, findDataFiles, inputOf } from '../threads/index.ts'
import { optimizersOf } from './checkpoint.ts'
import type { JobContext } from './job.ts'

/** Samples that an export shows with their scores. */
const SAMPLES = 7

/** Writes `<epoch>/inference/` in model_save_path. */
export type SaveInference = (params: LocalParams, epoch: number) => Promise<void>

/** What to call after each epoch under `use_inference`, else undefined. Names are checked here, before training. */
export function inferenceSaver(
  config: JobConfig,
  model: TracedModel,
  files: DataFiles,
  emit: EventSink,
): SaveInference | undefined {
  const { use_inference, model_save_path } = config.runner
  if (!use_inference || model_save_path === '') return undefined
  const plan = planOf(config, model)
  let first: Promise<FirstSamples> | undefined
  return async (params, epoch) => {
    first ??= firstSamples(config, model, files)
    const folder = join(model_save_path, String(epoch), INFERENCE_FOLDER)
    await put({ config, plan, params, ...(await first), folder, epoch, emit })
  }
}

/** A model for inference is a static graph, whichever way it was trained. */
export async function exportedModel({ config, mode }: JobContext, model: TracedModel): Promise<TracedModel> {
  return config.config.runner.use_inference && mode === 'dygraph' ? await loadModel(config) : model
}

export interface ExportParamsOptions {
  readonly config: JobConfig
  readonly model: TracedModel
  readonly params: LocalParams
  /** For samples to show. */
  readonly files: DataFiles
  /** The folder to write. */
  readonly folder: string
  readonly epoch: number
  readonly emit: EventSink
  /** Of the folder that it is put into. */
  readonly lock?: FolderLock | undefined
}

/** Exports weights as they are; no thread may train meanwhile. */
export async function exportParams({ config, model, files, ...options }: ExportParamsOptions): Promise<ExportManifest> {
  return put({ config, plan: planOf(config, model), ...(await firstSamples(config, model, files)), ...options })
}

export interface ExportCheckpointOptions {
  readonly config: LoadedConfig
  /** The folder to write. */
  readonly out: string
  /** @default the best that epochs.json in model_save_path knows of, else the last that was saved */
  readonly epoch?: number | undefined
  /** @default false */
  readonly fold?: boolean | undefined
  readonly emit: EventSink
  /** Aborted, it throws the reason; the folder stays as it was. */
  readonly signal?: AbortSignal | undefined
}

/** Exports a checkpoint of model_save_path. */
export async function exportCheckpoint(options: ExportCheckpointOptions): Promise<ExportManifest> {
  const { config: loaded, out, fold = false, emit, signal } = options
  signal?.throwIfAborted()
  const { config } = loaded
  await refuseToReplace(out)
  const model = await loadModel(loaded)
  const plan = planOf(config, model)
  return await withCheckpoint(options, model, async ({ params, epoch }) => {
    const files = await findDataFiles(config, ['infer', 'train']).catch((): DataFiles => ({}))
    const first = await firstSamples(config, model, files)
    return put({ config, plan, params, ...first, folder: out, epoch, fold, emit, signal })
  })
}

/** Loads a checkpoint of model_save_path for `work`. */
export async function withCheckpoint<T>(
  { config: { config }, emit, signal, ...options }: Omit<ExportCheckpointOptions, 'out' | 'fold'>,
  model: TracedModel,
  work: (loaded: { readonly params: LocalParams; readonly epoch: number }) => Promise<T>,
): Promise<T> {
  const epoch = options.epoch ?? (await chosenEpoch(config, emit))
  const snapshot = await openSnapshot(join(config.runner.model_save_path, String(epoch)), '--epoch')
  const params = createParams(config, model, optimizersOf(snapshot.manifest), 1)
  const storeRows: LoadOptions['storeRows'] = async (table, { signs, rows }, areNew) => {
    signal?.throwIfAborted()
    params.tables[table]!.load(signs, rows, areNew)
  }
  return throughTiers(params, config, async () => {
    await loadSnapshot({ snapshot, params, emit, storeRows })
    return await work({ params, epoch })
  })
}

function planOf({ runner }: JobConfig, model: TracedModel): ExportPlan {
  const { save_inference_feed_varnames: feeds, save_inference_fetch_varnames: fetches } = runner
  return planExport(model, { feeds, fetches })
}

/** Writes and says so. */
export async function put({
  config,
  emit,
  ...options
}: Omit<Parameters<typeof writeExport>[0], 'seed'> & { readonly config: JobConfig; readonly emit: EventSink }) {
  const started = performance.now()
  const manifest = await writeExport({ ...options, seed: config.runner.seed })
  const bytes = Object.values(manifest.files).reduce((sum, file) => sum + file.bytes, 0)
  const seconds = (performance.now() - started) / 1000
  emit({ kind: 'saved', path: shown(options.folder), epoch: options.epoch, bytes, seconds })
  return manifest
}

/** The best that epochs.json knows of, else the last that was saved; which one is said. */
async function chosenEpoch({ runner }: JobConfig, emit: EventSink): Promise<number> {
  const saved = await savedEpochs(runner.model_save_path)
  const kept = await readEpochs(runner.model_save_path)
  const epoch = kept?.best && saved.includes(kept.best.epoch) ? kept.best.epoch : saved.at(-1)
  if (epoch === undefined) {
    throw new UserError(`runner.model_save_path: there are no saved epochs in ${shown(runner.model_save_path)}`, {
      code: 'SNAPSHOT_MISSING',
      hint: 'train first: oarfish train -m config.yaml; the folder is relative to the working folder',
    })
  }
  emit({ kind: 'notice', message: `Epoch ${epoch} is exported: ${whyChosen(epoch, kept)}.` })
  return epoch
}

function whyChosen(epoch: number, kept: EpochsFile | undefined): string {
  const last = 'the last that was saved'
  if (!kept?.best) return last
  const { epoch: best, metric, value } = kept.best
  const by = `by test ${metric} (${Number(value.toFixed(6))}) of the ${kept.epochs.length} that were evaluated`
  return best === epoch ? `the best ${by}` : `${last}, since the best, epoch ${best} ${by}, is not kept`
}

type FirstSamples = Pick<Parameters<typeof writeExport>[0], 'samples' | 'records'>

/** The first samples of the test data, else of the training data; none where there is no data. */
export async function firstSamples(config: JobConfig, { slots }: TracedModel, files: DataFiles): Promise<FirstSamples> {
  const phase = files.infer ? 'infer' : 'train'
  const own = files[phase] ?? []
  const none = { samples: joinColumns(slots, []) }
  if (own.length === 0) return none
  const { reader: options, format } = inputOf(config, phase, own)
  if (slots.some(({ feature }) => feature))
    return { ...none, records: await readRawRecords({ ...options, slots, file: own[0]!, rows: SAMPLES }) }
  const reader = openReader({ ...options, slots, threads: 1, files: own, format, batchSize: SAMPLES, epoch: 0 })
  for await (const batch of reader) return { samples: batchColumns(slots, batch) }
  return none
}
