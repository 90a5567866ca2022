/** @file Saves a checkpoint: a folder that appears whole, or the one before it stays. */
import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { EventSink, Metrics } from '../../base/event/index.ts'
import { createFile, type FolderLock, isReplaceable, writeFolder } from '../../base/fs/index.ts'
import { defined, isUserError } from '../../base/util/index.ts'
import type { LocalParams } from '../params/index.ts'
import { writeFiles } from './block-writer.ts'
import { cannotWrite, diskFull, notACheckpoint } from './errors.ts'
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
import { tableProgress } from './progress.ts'

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
  readonly meter?: MeterState
}

/** Rows that do not lie in this process: they pass through it block by block. */
export interface RowSource {
  /** How many there are, by table. */
  readonly counts: readonly number[]
  /** A table's rows in parts, one after the other; each becomes files of its own. */
  parts(table: number): Iterable<AsyncIterable<Rows>>
}

export interface Rows {
  readonly signs: BigUint64Array
  /** Weight and state as the table keeps them. */
  readonly rows: Uint8Array
}

export interface SaveOptions {
  readonly folder: string
  readonly params: LocalParams
  /** Where the rows of the tables are, if not in `params`. */
  readonly rows?: RowSource | undefined
  readonly state: SnapshotState
  readonly emit: EventSink
  /** Of the folder that the checkpoint is put into: without it nothing takes the place of what is there. */
  readonly lock?: Pick<FolderLock, 'check' | 'fence'> | undefined
  /** Other ranks write their parts of tables into the folder while it is filled; resolves to what they wrote. @default none */
  readonly others?: ((aside: string) => Promise<readonly SavedPart[]>) | undefined
}

/** A part of a table that another process wrote. */
export interface SavedPart {
  /** By its number among the tables. */
  readonly table: number
  readonly part: ManifestTable['parts'][number]
  readonly files: Readonly<Record<string, FileMark>>
}

/** What a rank other than 0 adds to a checkpoint: its part of each of these tables. */
export async function saveParts(
  aside: string,
  rank: number,
  tables: readonly number[],
  { params, emit }: Pick<SaveOptions, 'params' | 'emit'>,
): Promise<readonly SavedPart[]> {
  return inOrder(tables, async (table) => {
    const files: Record<string, FileMark> = {}
    const { parts } = await saveTable(table, { aside, params, rows: rowsOf(params), files, emit, first: rank })
    return { table, part: parts[0]!, files }
  })
}

/** Writes `folder`; no thread may train meanwhile. Returns what it took. */
export async function saveSnapshot(options: SaveOptions): Promise<{ bytes: number; seconds: number }> {
  const { folder, params } = options
  const started = performance.now()
  try {
    await refuseToLose(folder)
    const bytes = await writeFolder(folder, (aside) => fillFolder(aside, options))
    return { bytes, seconds: (performance.now() - started) / 1000 }
  } catch (error) {
    throw await saveError(error as NodeJS.ErrnoException, folder, neededBytes(params, options.rows))
  }
}

/** A checkpoint takes the place of its folder. */
export async function refuseToLose(folder: string): Promise<void> {
  if (!(await isCheckpoint(folder))) throw notACheckpoint(folder)
}

/** Whether there is nothing in it but a checkpoint, or nothing at all. */
export const isCheckpoint = (folder: string) => isReplaceable(folder, { format: FORMAT, files: OWN_FILES })

const OWN_FILES = /^(manifest\.json|dense\.bin|metrics\.bin|table-\d+\.part-\d+\.(signs|rows))$/

async function fillFolder(
  aside: string,
  { params, rows = rowsOf(params), state, emit, lock, others }: SaveOptions,
): Promise<number> {
  const elsewhere = others?.(aside)
  elsewhere?.catch(() => undefined) // thrown below, where it is waited for
  const { layout, steps } = params.dense
  const { optimizer } = params.handle.dense
  const files: Record<string, FileMark> = {}
  const put = async (name: string, data: Uint8Array) => {
    const [mark] = await writeFiles([join(aside, name)], ([writer]) => writer!.append(data))
    files[name] = mark!
    return name
  }
  const { meter, ...rest } = state
  const own: Manifest = {
    format: FORMAT,
    version: VERSION,
    savedAt: new Date().toISOString(),
    ...rest,
    ...defined({ fence: lock?.fence }),
    steps,
    meter: meter && { ...meterFields(meter), file: await put('metrics.bin', histogramBytes(meter)) },
    dense: {
      file: await put('dense.bin', params.dense.bytes()),
      floats: layout.floats,
      states: layout.floats === 0 ? 0 : params.dense.bytes().length / (4 * layout.floats) - 1,
      optimizer,
      entries: layout.entries.map(({ name, kind, shape, at }) => ({
        name,
        kind,
        shape: [...shape],
        dtype: 'float32',
        at,
      })),
    },
    tables: await inOrder(params.tables.keys(), (i) => saveTable(i, { aside, params, rows, files, emit, first: 0 })),
    files,
  }
  const text = Buffer.from(manifestText(withParts(own, (await elsewhere) ?? [])))
  const file = await createFile(join(aside, MANIFEST))
  await file.write(text).finally(file.close)
  lock?.check() // the last moment at which a job that lost its folder can notice
  return text.length + Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0)
}

function withParts(own: Manifest, parts: readonly SavedPart[]): Manifest {
  const tables = own.tables.map((table, t) => {
    const all = [...table.parts, ...parts.filter((more) => more.table === t).map(({ part }) => part)]
    return { ...table, rows: all.reduce((sum, { rows }) => sum + rows, 0), parts: all }
  })
  return { ...own, tables, files: Object.assign(own.files, ...parts.map(({ files }) => files)) }
}

interface SaveTableOptions {
  readonly aside: string
  readonly params: LocalParams
  readonly rows: RowSource
  readonly files: Record<string, FileMark>
  readonly emit: EventSink
  /** The number of the first part. */
  readonly first: number
}

/** In each part signs are in one file, whole rows in the other, in the same order. */
async function saveTable(index: number, options: SaveTableOptions): Promise<ManifestTable> {
  const { aside, params, rows, files, emit, first } = options
  const { name, dim, rowBytes, rule, accessor } = params.tables[index]!
  const report = tableProgress(emit, 'save', name, rows.counts[index]!)
  const parts: ManifestTable['parts'] = []
  let count = 0
  for (const blocks of rows.parts(index)) {
    const names = ['signs', 'rows'].map((kind) => `table-${index}.part-${first + parts.length}.${kind}`)
    const before = count
    const paths = names.map((name) => join(aside, name))
    const marks = await writeFiles(paths, async ([signsTo, valuesTo]) => {
      for await (const { signs, rows: values } of blocks) {
        await signsTo!.append(new Uint8Array(signs.buffer, signs.byteOffset, signs.byteLength))
        await valuesTo!.append(values)
        count += signs.length
        report(count)
      }
    })
    for (const [i, name] of names.entries()) files[name] = marks[i]!
    parts.push({ rows: count - before, signs: names[0]!, values: names[1]! })
  }
  const { states, clocked } = rule
  const { optimizer } = params.handle.tables[index]!
  return { name, dim, dtype: 'float32', rows: count, rowBytes, states, clocked, optimizer, accessor, parts }
}

/** The rows that lie in `params`, in one part. */
function rowsOf({ tables }: LocalParams): RowSource {
  const scan = async function* (table: number) {
    yield* tables[table]!.scan()
  }
  return { counts: tables.map(({ rowCount }) => rowCount), parts: (table) => [scan(table)] }
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

async function inOrder<T, R>(items: Iterable<T>, run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await run(item))
  return results
}

function neededBytes(params: LocalParams, { counts } = rowsOf(params)): number {
  const { dense, tables } = params
  return tables.reduce((sum, { rowBytes }, i) => sum + counts[i]! * (8 + rowBytes), dense.bytes().length)
}

async function saveError(error: NodeJS.ErrnoException, folder: string, needed: number): Promise<Error> {
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
    const kept = await stat(folder).catch(() => undefined)
    const space = await statfs(join(folder, '..')).catch(() => undefined)
    return diskFull(error, folder, {
      needed,
      free: space && space.bavail * space.bsize,
      kept: kept !== undefined,
    })
  }
  // A server that is gone while its rows are gathered is not the folder's fault.
  return error.code === undefined || isUserError(error) ? error : cannotWrite(error, folder)
}
