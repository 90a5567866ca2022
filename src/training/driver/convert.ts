/** @file A model from one form to another: Paddle's table files, a checkpoint, a folder for inference. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { LoadedConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { shown, UserError } from '../../base/util/index.ts'
import { encodeModel, toOnnxModel } from '../../graph/onnx/index.ts'
import { programHash } from '../../graph/program/index.ts'
import { planExport, refuseToReplace } from '../../inference/export/index.ts'
import { loadModel, type TracedModel } from '../../model/index.ts'
import {
  type LocalParams,
  loadPaddleModel,
  savePaddleModel,
  throughTiers,
  varName,
  writePlugin,
} from '../../weights/params/index.ts'
import {
  loadSnapshot,
  openSnapshot,
  refuseToLose,
  type Snapshot,
  saveSnapshot,
  tableProgress,
} from '../../weights/snapshot/index.ts'
import { DEFAULT_SHARDS, type SaveMode } from '../../weights/table/index.ts'
import { beginningOf, createParams, type DataFiles, findDataFiles } from '../threads/index.ts'
import { optimizersOf } from './checkpoint.ts'
import { exportParams } from './inference-model.ts'

export const MODEL_FORMS = ['paddle', 'checkpoint', 'export'] as const
export type ModelForm = (typeof MODEL_FORMS)[number]

export interface ConvertOptions {
  readonly config: LoadedConfig
  /** A folder of Paddle's table files or a checkpoint; which one is seen from what it holds. */
  readonly from: string
  readonly to: string
  readonly as: ModelForm
  /** What Paddle's files hold. @default 0: everything */
  readonly mode?: SaveMode | undefined
  /** Paddle's files are named as so many servers would. @default 1 */
  readonly servers?: number
  /** Paddle's files are not compressed. @default false */
  readonly plain?: boolean
  readonly emit: EventSink
}

/** Returns the rows written, of all tables. */
export async function convertModel(options: ConvertOptions): Promise<number> {
  const { config: loaded, from, to, as, emit } = options
  await REFUSALS[as]?.(to)
  const model = await loadModel(loaded)
  const snapshot = await openSource(from)
  const params = createParams(loaded.config, model, snapshot ? optimizersOf(snapshot.manifest) : model, 1)
  return throughTiers(params, loaded.config, async () => {
    const started = performance.now()
    if (snapshot) await loadSnapshot({ snapshot, params, emit })
    else await loadPaddleModel(params, { folder: from, onRows: progress(emit, 'load') })
    const seconds = (performance.now() - started) / 1000
    emit({ kind: 'loaded', path: shown(from), epoch: snapshot ? snapshot.manifest.position.epoch - 1 : -1, seconds })
    const all = params.tables.reduce((sum, { rowCount }) => sum + rowCount, 0)
    const rows = (await WRITERS[as](options, model, params)) ?? all
    emit({ kind: 'notice', message: `${rows.toLocaleString('en-US')} rows are in ${shown(to)} as ${as}` })
    return rows
  })
}

/** What takes the place of its folder must not take other things with it. Files of Paddle are written beside what is there. */
const REFUSALS: Partial<Record<ModelForm, (to: string) => Promise<void>>> = {
  export: refuseToReplace,
  checkpoint: refuseToLose,
}

const CHECKPOINT = /"oarfish-checkpoint"/

const manifestOf = (folder: string) => readFile(join(folder, 'manifest.json'), 'utf8').catch(() => undefined)

/** A checkpoint; undefined for a folder of Paddle's. */
async function openSource(from: string): Promise<Snapshot | undefined> {
  const manifest = await manifestOf(from)
  const tables = (await stat(join(from, '000')).catch(() => undefined))?.isDirectory() ?? false
  if (manifest !== undefined && !CHECKPOINT.test(manifest))
    throw notConvertible(from, 'it is an export, which has no optimizer state and its weights inside a graph')
  if (manifest !== undefined) return openSnapshot(from, '--from')
  if (tables) return undefined
  throw notConvertible(from, 'it holds neither a checkpoint (manifest.json) nor tables of Paddle (000)')
}

type Writer = (options: ConvertOptions, model: TracedModel, params: LocalParams) => Promise<number | undefined>

const WRITERS: { readonly [F in ModelForm]: Writer } = {
  async paddle({ config: { config }, to: folder, mode = 0, servers = 1, plain = false, emit }, model, params) {
    const tables = Object.values(config.table_parameters)
    const shards = tables.find(({ shard_num }) => shard_num)?.shard_num ?? DEFAULT_SHARDS
    const compress = !plain && tables.every(({ compress_in_save }) => compress_in_save !== false)
    const onRows = progress(emit, 'save')
    const rows = await savePaddleModel(params, { folder, mode, servers, shards, compress, onRows })
    await writePaddlePlugin(model, params, folder)
    return rows
  },
  async checkpoint({ config: { config }, to: folder, emit }, model, params) {
    const state = { program: programHash(model.train), seed: config.runner.seed, ...beginningOf(0), metrics: {} }
    await saveSnapshot({ folder, params, state, emit })
    return undefined
  },
  async export({ config: { config }, to: folder, emit }, model, params) {
    const files = await findDataFiles(config, ['infer', 'train']).catch((): DataFiles => ({}))
    await exportParams({ config, model, params, files, folder, epoch: 0, emit })
    return undefined
  },
}

/** `dnn_plugin/`: the graph for inference, as ONNX, and one file a weight. */
export async function writePaddlePlugin(model: TracedModel, params: LocalParams, folder: string): Promise<void> {
  const all = new Float32Array(params.dense.layout.floats)
  params.dense.pull(all)
  const { entries } = params.dense.layout
  const weights = new Map(entries.map(({ name, at, size }) => [name, all.slice(at, at + size)]))
  const { program } = planExport(model, {})
  const vars = entries.flatMap(({ kind, name, shape }) =>
    kind === 'parameter' ? [{ name: varName(name), dims: shape, values: weights.get(name)! }] : [],
  )
  await writePlugin(folder, encodeModel(toOnnxModel(program, { weights })), vars)
}

/** Each table has a progress of its own. */
function progress(emit: EventSink, what: 'save' | 'load') {
  const tables = new Map<string, (rows: number, ofRows?: number) => void>()
  return (table: string, rows: number, ofRows: number) => {
    const report = tables.get(table) ?? tableProgress(emit, what, table, ofRows)
    tables.set(table, report)
    report(rows)
  }
}

function notConvertible(from: string, reason: string): UserError {
  return new UserError(`--from ${from}: ${reason}`, {
    code: 'CONVERT_SOURCE',
    hint: 'name a checkpoint such as model_output/2, or the folder that save_persistables of Paddle wrote',
  })
}
