/** @file Saves a checkpoint: a folder that appears whole, or the one before it stays. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { jobUid, processEnv } from '../../base/env/index.ts'
import type { EventSink, Metrics } from '../../base/event/index.ts'
import { createFile, type FolderLock, isReplaceable, writeFolder } from '../../base/fs/index.ts'
import { defined } from '../../base/util/index.ts'
import type { LocalParams } from '../params/index.ts'
import { writeFiles } from './block-writer.ts'
import type { Chain } from './chain.ts'
import { notACheckpoint } from './errors.ts'
import {
  type FileMark,
  FORMAT,
  type InputMark,
  MANIFEST,
  type Manifest,
  type ManifestTable,
  manifestText,
  type Position,
  type RankPlace,
  VERSION,
  type WorkerPlace,
} from './manifest.ts'
import type { Snapshot } from './open.ts'
import { type SavedPart, type SaveRows, saveError, saveParts } from './parts.ts'

/** What a pass has measured so far, to go on from inside an epoch. */
export interface MeterState {
  readonly samples: number
  readonly batches: number
  readonly seconds: number
  readonly sums: Readonly<Record<string, number>>
  readonly histograms: Readonly<Record<string, Float64Array>>
  /** Of metrics by group; see GroupedAuc. @default none */
  readonly groups?: Readonly<Record<string, Float64Array>> | undefined
}

/** What a checkpoint holds besides weights. */
export interface SnapshotState {
  /** Hash of the training program. */
  readonly program: string
  readonly seed: number
  readonly position: Position
  readonly metrics: Metrics
  readonly input?: InputMark
  /** Of each rank, where several train together. */
  readonly ranks?: RankPlace[]
  /** Of each worker, where servers keep the weights. */
  readonly workers?: WorkerPlace[]
  readonly settings?: NonNullable<Manifest['settings']>
  readonly meter?: MeterState
}

export interface SaveOptions {
  readonly folder: string
  readonly params: LocalParams
  /** How rows come into the folder, where they do not lie in `params` alone. @default those of `params` */
  readonly rows?: SaveRows | undefined
  /** How many there are, by table. @default those of `params` */
  readonly rowCounts?: readonly number[] | undefined
  /** What `rows` writes is what changed since this. @default all rows */
  readonly base?: Chain | undefined
  /** Dense weights and optimizer state. @default those of `params` as they are when they are written */
  readonly dense?: { readonly bytes: Uint8Array; readonly steps: number } | undefined
  readonly state: SnapshotState
  readonly emit: EventSink
  /** Of the folder that the checkpoint is put into: without it nothing takes the place of what is there. */
  readonly lock?: Pick<FolderLock, 'check' | 'fence'> | undefined
}

export interface Saved {
  /** Written for it. */
  readonly bytes: number
  readonly seconds: number
  /** See SavedPart; of all processes. */
  readonly workSeconds: number
  readonly snapshot: Snapshot
}

/** Writes `folder`; no thread may train meanwhile, unless `rows` and `dense` were taken before. Returns what it took. */
export async function writeSnapshot(options: SaveOptions): Promise<Saved> {
  const { folder } = options
  const started = performance.now()
  try {
    await refuseToLose(folder)
    const filled = await writeFolder(folder, (aside) => fillFolder(aside, options))
    const { manifest, ...took } = filled
    return { ...took, seconds: (performance.now() - started) / 1000, snapshot: { folder, manifest } }
  } catch (error) {
    const kept = (await stat(folder).catch(() => undefined)) !== undefined
    throw await saveError(error as NodeJS.ErrnoException, folder, { kept, needed: neededBytes(options) })
  }
}

/** The same, for those who only want to know what it took. */
export async function saveSnapshot(options: SaveOptions): Promise<Pick<Saved, 'bytes' | 'seconds'>> {
  const { bytes, seconds } = await writeSnapshot(options)
  return { bytes, seconds }
}

/** A checkpoint takes the place of its folder. */
export async function refuseToLose(folder: string): Promise<void> {
  if (!(await isCheckpoint(folder))) throw notACheckpoint(folder)
}

/** Whether there is nothing in it but a checkpoint, or nothing at all. */
export const isCheckpoint = (folder: string) => isReplaceable(folder, { format: FORMAT, files: OWN_FILES })

const OWN_FILES = /^(manifest\.json|dense\.bin|metrics\.bin|table-\d+\.part-\d+\.(signs|rows))$/

interface Filled extends Pick<Saved, 'bytes' | 'workSeconds'> {
  readonly manifest: Manifest
}

async function fillFolder(aside: string, options: SaveOptions): Promise<Filled> {
  const { params, emit } = options
  const { rows = (folder) => saveParts(folder, 0, params.tables.keys(), { params, emit }) } = options
  const saving = rows(aside)
  try {
    return await fillWith(aside, saving, options)
  } finally {
    // Others write into the folder as well: it goes, or takes its place, when they are done.
    await saving.catch(() => undefined)
  }
}

async function fillWith(
  aside: string,
  saving: Promise<readonly SavedPart[]>,
  { params, state, lock, base, dense = { bytes: params.dense.bytes(), steps: params.dense.steps } }: SaveOptions,
): Promise<Filled> {
  saving.catch(() => undefined) // thrown below, where it is waited for
  const { layout } = params.dense
  const { optimizer } = params.handle.dense
  const files: Record<string, FileMark> = {}
  const put = async (name: string, data: Uint8Array) => {
    const [mark] = await writeFiles([join(aside, name)], ([writer]) => writer!.append(data))
    files[name] = mark!
    return name
  }
  const { meter, ...rest } = state
  const own: Omit<Manifest, 'tables' | 'files'> = {
    format: FORMAT,
    version: VERSION,
    savedAt: new Date().toISOString(),
    ...rest,
    ...defined({ fence: lock?.fence, job: jobUid(processEnv()) }),
    steps: dense.steps,
    meter: meter && { ...meterFields(meter), file: await put('metrics.bin', histogramBytes(meter)) },
    dense: {
      file: await put('dense.bin', dense.bytes),
      floats: layout.floats,
      states: layout.floats === 0 ? 0 : dense.bytes.length / (4 * layout.floats) - 1,
      optimizer,
      entries: layout.entries.map(({ name, kind, shape, at }) => ({
        name,
        kind,
        shape: [...shape],
        dtype: 'float32',
        at,
      })),
    },
  }
  const parts = await saving
  Object.assign(files, ...parts.map((part) => part.files))
  const tables = params.tables.map(({ name }, table) => tableOf(params, table, parts, base?.parts[name]))
  const manifest = { ...own, tables, files: { ...base?.files, ...files } }
  const text = Buffer.from(manifestText(manifest))
  const file = await createFile(join(aside, MANIFEST))
  await file.write(text).finally(file.close)
  lock?.check() // the last moment at which a job that lost its folder can notice
  return {
    manifest,
    bytes: text.length + Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0),
    workSeconds: parts.reduce((sum, part) => sum + (part.workSeconds ?? 0), 0),
  }
}

function tableOf(
  params: LocalParams,
  table: number,
  saved: readonly SavedPart[],
  before: ManifestTable['parts'] = [],
): ManifestTable {
  const { name, dim, rowBytes, rule, precision: dtype, accessor } = params.tables[table]!
  const { states, clocked } = rule
  const { optimizer } = params.handle.tables[table]!
  const own = saved.filter((part) => part.table === table)
  const rows = own.reduce((sum, part) => sum + part.rows, 0)
  const parts = [...before, ...own.map(({ part }) => part)]
  return { name, dim, dtype, rows, rowBytes, states, clocked, optimizer, accessor, parts }
}

function meterFields({ samples, batches, seconds, sums, histograms, groups = {} }: MeterState) {
  const lengths = Object.entries(groups).map(([name, { length }]) => ({ name, length }))
  return { samples, batches, seconds, sums, histograms: Object.keys(histograms), groups: lengths }
}

function histogramBytes({ histograms, groups = {} }: MeterState): Uint8Array {
  return Buffer.concat(
    [...Object.values(histograms), ...Object.values(groups)].map(({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength),
    ),
  )
}

function neededBytes({ params, rowCounts }: SaveOptions): number {
  const { dense, tables } = params
  const bytes = tables.map(({ rowBytes, rowCount }, i) => (rowCounts?.[i] ?? rowCount) * (8 + rowBytes))
  return bytes.reduce((sum, each) => sum + each, dense.bytes().length)
}
