/** @file Vectors of a saved epoch, and the index of its items: what `oarfish export --vectors` and `oarfish index` do. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { gunzipSync } from 'node:zlib'
import type { JobConfig, LoadedConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { isRemotePath } from '../../base/fs/index.ts'
import { shown } from '../../base/util/index.ts'
import { batchColumns, type Columns, listDataFiles, openReader, releaseBatch, type Slot } from '../../data/index.ts'
import type { ExportPlan } from '../../inference/export/index.ts'
import {
  badItem,
  type IndexManifest,
  readVectors,
  refuseOther,
  type Vectors,
  type VectorsManifest,
  writeIndex,
  writeVectors,
} from '../../inference/recall/index.ts'
import { loadModel, type TracedModel, VECTOR } from '../../model/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import { type DataFiles, findDataFiles, inputOf } from '../threads/index.ts'
import { computeItems, computeUsers, modelMark, planVectors } from './compute-vectors.ts'
import { firstSamples, put, withCheckpoint } from './inference-model.ts'

interface CheckpointOptions {
  readonly config: LoadedConfig
  /** The folder to write. */
  readonly out: string
  /** @default the best that epochs.json in model_save_path knows of, else the last that was saved */
  readonly epoch?: number | undefined
  /** A file or folder with a line for each item or user. @default all items of the table; the users of test_data_dir */
  readonly from?: string | undefined
  readonly emit: EventSink
  /** Aborted, it throws the reason; the folder stays as it was. */
  readonly signal?: AbortSignal | undefined
}

export interface ExportVectorsOptions extends CheckpointOptions {
  readonly kind: VectorsManifest['kind']
}

/** Writes the vectors of a checkpoint of model_save_path. */
export async function exportVectors(options: ExportVectorsOptions): Promise<VectorsManifest> {
  const { config, kind, out, from, emit } = options
  const started = performance.now()
  const model = await loadModel(config)
  const plan = planVectors(model, kind)
  return await withCheckpoint(options, model, async ({ params, epoch }) => {
    const vectors =
      kind === 'item'
        ? await computeItems(model, params, await itemsOf(config.config, model, from))
        : await computeUsers(model, params, await usersOf(config.config, plan, from))
    options.signal?.throwIfAborted()
    const manifest = await writeVectors(out, { ...vectors, kind, model: markOf(config.config, params, epoch) })
    await said(emit, out, manifest, started)
    return manifest
  })
}

export interface BuildIndexOptions extends CheckpointOptions {
  /** Items of this folder of vectors, which must be of the same model. @default the items are computed */
  readonly vectors?: string | undefined
  /** @default exact for up to 100,000 items */
  readonly kind?: IndexManifest['kind'] | undefined
  /** Of the 50 nearest, the share that an approximate index finds. @default 0.95 */
  readonly recall?: number | undefined
}

/** Users whose vectors an approximate index is measured with. */
const QUERIES = 256

/** Writes an index of the items of a checkpoint of model_save_path, with what makes a user's vector. */
export async function buildIndex(options: BuildIndexOptions): Promise<IndexManifest> {
  const { config: loaded, out, from, emit, signal, kind, recall } = options
  const { config } = loaded
  const started = performance.now()
  const model = await loadModel(loaded)
  const itemPlan = planVectors(model, 'item')
  const userPlan = model.vectors?.program.fetches.some(({ name }) => name === VECTOR.user)
    ? planVectors(model, 'user')
    : undefined
  const given = options.vectors === undefined ? undefined : await readVectors(options.vectors)
  return await withCheckpoint(options, model, async ({ params, epoch }) => {
    const mark = markOf(config, params, epoch)
    const dim = Number(itemPlan.outputs[0]!.shape[1])
    if (given)
      refuseOther(
        `${shown(options.vectors!)} is`,
        { ...given.manifest.model, dim: given.dim, kind: given.manifest.kind },
        { ...mark, dim, kind: 'item' },
      )
    const items = given ?? (await computeItems(model, params, await itemsOf(config, model, from)))
    const files = await findDataFiles(config, ['infer', 'train']).catch((): DataFiles => ({}))
    const first = userPlan && (await firstSamples(config, model, files))
    signal?.throwIfAborted()
    const quiet = () => {}
    const manifest = await writeIndex({
      ...{ folder: out, items, model: mark, kind, recall },
      queries: userPlan && (await someUsers(config, model, params, files)),
      seen: userPlan ? seenSlots(model, itemPlan, userPlan) : [],
      user: userPlan && {
        interests: interestsOf(userPlan),
        write: (folder) => put({ config, plan: userPlan, params, ...first!, folder, epoch, emit: quiet, signal }),
      },
    })
    await said(emit, out, manifest, started)
    return manifest
  })
}

const interestsOf = ({ outputs }: ExportPlan) => (outputs[0]!.shape.length === 3 ? Number(outputs[0]!.shape[1]) : 1)

function markOf({ dir, runner }: JobConfig, params: LocalParams, epoch: number) {
  return modelMark(params, { name: basename(dir), epoch, seed: runner.seed })
}

/** Slots of a user that name rows of the items' table. */
function seenSlots({ vectors }: TracedModel, item: ExportPlan, user: ExportPlan): string[] {
  const rows = (plan: ExportPlan) => plan.inputs.flatMap((input) => (input.kind === 'rows' ? [input] : []))
  const tables = rows(item)
    .filter(({ slots }) => slots.includes(vectors?.id ?? ''))
    .map(({ table }) => table)
  return [...new Set(rows(user).flatMap(({ table, slots }) => (tables.includes(table) ? slots : [])))]
}

/** Their vectors; undefined where there is no data. */
async function someUsers(
  config: JobConfig,
  model: TracedModel,
  params: LocalParams,
  files: DataFiles,
): Promise<Vectors | undefined> {
  const phase = files.infer ? 'infer' : 'train'
  const own = files[phase] ?? []
  if (own.length === 0) return undefined
  const all = readColumns(config, model.slots, phase, own)
  return await computeUsers(model, params, firstOf(all, QUERIES))
}

async function* firstOf(all: AsyncIterable<Columns>, most: number) {
  let samples = 0
  for await (const columns of all) {
    yield columns
    samples += columns.samples
    if (samples >= most) return
  }
}

/** The items of a file; undefined: those of the table. */
export async function itemsOf(
  config: JobConfig,
  model: TracedModel,
  from = config.runner.recall_items,
): Promise<AsyncIterable<Columns> | BigUint64Array | undefined> {
  if (from === undefined) return undefined
  const files = await filesAt(from)
  const ids = model.vectors?.id === undefined ? undefined : await idList(files)
  return ids ?? readColumns(config, neededSlots(planVectors(model, 'item')), 'infer', files)
}

/** The users of a file; else those of the test data. */
async function usersOf(config: JobConfig, plan: ExportPlan, from: string | undefined): Promise<AsyncIterable<Columns>> {
  const files = from === undefined ? (await findDataFiles(config, ['infer'])).infer! : await filesAt(from)
  return readColumns(config, neededSlots(plan), 'infer', files)
}

/** A file, or those of a folder. */
async function filesAt(path: string): Promise<readonly string[]> {
  const found = isRemotePath(path) ? undefined : await stat(path).catch(() => undefined)
  return found?.isFile() ? [path] : await listDataFiles(path, '--from')
}

/** What a vector is not made of, lines need not have. */
const neededSlots = ({ slots }: ExportPlan): Slot[] =>
  slots.map((slot) => ({ ...slot, required: slot.needed ? undefined : false }))

const BATCH = 512

/** Samples of an evaluation, a batch at a time. */
export async function* readColumns(
  config: JobConfig,
  slots: readonly Slot[],
  phase: 'infer' | 'train',
  files: readonly string[],
): AsyncGenerator<Columns> {
  const { reader, format } = inputOf(config, phase, files)
  for await (const batch of openReader({ ...reader, slots, threads: 1, files, format, batchSize: BATCH, epoch: 0 })) {
    const columns = batchColumns(slots, batch)
    releaseBatch(batch)
    yield columns
  }
}

/** The ids of files that have nothing but one a line; undefined where they are samples. */
async function idList(files: readonly string[]): Promise<BigUint64Array | undefined> {
  const ids: bigint[] = []
  for (const file of files) {
    const bytes = await readFile(file)
    const lines = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString().split('\n')
    for (const [i, line] of lines.entries()) {
      const text = line.trim()
      if (text === '') continue
      if (!/^\d+$/.test(text)) {
        if (ids.length === 0) return undefined
        throw badItem(file, i + 1, `"${text.slice(0, 40)}" is no id, and the lines before it are`)
      }
      const id = BigInt(text)
      if (id >= 2n ** 64n) throw badItem(file, i + 1, `${text} is above 2^64-1`)
      ids.push(id)
    }
  }
  return BigUint64Array.from(ids)
}

async function said(
  emit: EventSink,
  out: string,
  manifest: VectorsManifest | IndexManifest,
  started: number,
): Promise<void> {
  const files = (await readdir(out, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  const seconds = (performance.now() - started) / 1000
  emit({ kind: 'saved', path: shown(out), epoch: manifest.model.epoch, bytes, seconds })
  emit({ kind: 'notice', message: sentence(manifest) })
}

function sentence(manifest: VectorsManifest | IndexManifest): string {
  const { count, dim, kind } = manifest
  const many = count.toLocaleString('en-US')
  if (manifest.format === 'oarfish-vectors') return `Vectors of ${many} ${kind}s, ${dim} values each.`
  const { lists } = manifest
  if (!lists) return `An exact index of ${many} items, ${dim} values each.`
  const share = `finds ${lists.recall50} of the 50 nearest`
  return `An approximate index of ${many} items, ${dim} values each: looks into ${lists.probes} of ${lists.count} lists and ${share}.`
}
