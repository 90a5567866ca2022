/** @file Saves a checkpoint: a folder that appears whole, or the one before it stays. */
import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { EventSink, Metrics } from '../event/index.ts'
import { createFile, writeFolder } from '../fs/index.ts'
import type { LocalParams } from '../params/index.ts'
import type { SparseTable } from '../table/index.ts'
import { writeFiles } from './block-writer.ts'
import { cannotWrite, diskFull } from './errors.ts'
import {
  type FileMark,
  FORMAT,
  type InputMark,
  MANIFEST,
  type Manifest,
  type ManifestTable,
  manifestText,
  type Position,
  VERSION,
} from './manifest.ts'
import { tableProgress } from './progress.ts'

/** What a pass has measured so far, to go on from inside an epoch. */
export interface MeterState {
  readonly samples: number
  readonly batches: number
  readonly seconds: number
  readonly sums: Readonly<Record<string, number>>
  readonly histograms: Readonly<Record<string, Float64Array>>
}

/** What a checkpoint holds besides weights. */
export interface SnapshotState {
  /** Hash of the training program. */
  readonly program: string
  readonly seed: number
  readonly position: Position
  readonly metrics: Metrics
  readonly input?: InputMark
  readonly meter?: MeterState
}

export interface SaveOptions {
  readonly folder: string
  readonly params: LocalParams
  readonly state: SnapshotState
  readonly emit: EventSink
}

/** Writes `folder`; no thread may train meanwhile. Returns what it took. */
export async function saveSnapshot(options: SaveOptions): Promise<{ bytes: number; seconds: number }> {
  const { folder, params } = options
  const started = performance.now()
  try {
    const bytes = await writeFolder(folder, (aside) => fillFolder(aside, options))
    return { bytes, seconds: (performance.now() - started) / 1000 }
  } catch (error) {
    throw await saveError(error as NodeJS.ErrnoException, folder, neededBytes(params))
  }
}

async function fillFolder(aside: string, { params, state, emit }: SaveOptions): Promise<number> {
  const { layout, steps } = params.dense
  const { optimizer } = params.handle.dense
  const files: Record<string, FileMark> = {}
  const put = async (name: string, data: Uint8Array) => {
    const [mark] = await writeFiles([join(aside, name)], ([writer]) => writer!.append(data))
    files[name] = mark!
    return name
  }
  const { meter, ...rest } = state
  const manifest: Manifest = {
    format: FORMAT,
    version: VERSION,
    savedAt: new Date().toISOString(),
    ...rest,
    steps,
    ...(meter && { meter: { ...meterFields(meter), file: await put('metrics.bin', histogramBytes(meter)) } }),
    dense: {
      file: await put('dense.bin', params.dense.bytes()),
      floats: layout.floats,
      states: layout.floats === 0 ? 0 : params.dense.bytes().length / (4 * layout.floats) - 1,
      optimizer,
      entries: layout.entries.map(({ name, kind, shape, at }) => ({
        ...{ name, kind, shape: [...shape] },
        dtype: 'float32',
        at,
      })),
    },
    tables: await inOrder(params.tables.entries(), ([i, table]) =>
      saveTable(aside, i, table, params.handle.tables[i]!.optimizer, files, emit),
    ),
    files,
  }
  const text = Buffer.from(manifestText(manifest))
  const file = await createFile(join(aside, MANIFEST))
  await file.write(text).finally(file.close)
  return text.length + Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0)
}

/** One part: signs in one file, whole rows in the other, in the same order. */
async function saveTable(
  aside: string,
  index: number,
  table: SparseTable,
  optimizer: ManifestTable['optimizer'],
  files: Record<string, FileMark>,
  emit: EventSink,
): Promise<ManifestTable> {
  const [signsFile, valuesFile] = [`table-${index}.part-0.signs`, `table-${index}.part-0.rows`]
  const tell = tableProgress(emit, 'save', table.name, table.rowCount)
  let count = 0
  const marks = await writeFiles([join(aside, signsFile), join(aside, valuesFile)], async ([signsTo, valuesTo]) => {
    for (const { signs, rows } of table.scan()) {
      await signsTo!.append(new Uint8Array(signs.buffer, signs.byteOffset, signs.byteLength))
      await valuesTo!.append(rows)
      count += signs.length
      tell(count)
    }
  })
  Object.assign(files, { [signsFile]: marks[0], [valuesFile]: marks[1] })
  const { name, dim, rowBytes, rule } = table
  return {
    ...{ name, dim, dtype: 'float32', rows: count, rowBytes, states: rule.states, clocked: rule.clocked, optimizer },
    ...(table.accessor && { accessor: table.accessor }),
    parts: [{ rows: count, signs: signsFile, values: valuesFile }],
  }
}

function meterFields({ samples, batches, seconds, sums, histograms }: MeterState) {
  return { samples, batches, seconds, sums, histograms: Object.keys(histograms) }
}

function histogramBytes({ histograms }: MeterState): Uint8Array {
  return Buffer.concat(
    Object.values(histograms).map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
  )
}

async function inOrder<T, R>(items: Iterable<T>, run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await run(item))
  return results
}

function neededBytes({ dense, tables }: LocalParams): number {
  return tables.reduce((sum, { rowCount, rowBytes }) => sum + rowCount * (8 + rowBytes), dense.bytes().length)
}

async function saveError(error: NodeJS.ErrnoException, folder: string, needed: number): Promise<Error> {
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
    const kept = await stat(folder).catch(() => undefined)
    const space = await statfs(join(folder, '..')).catch(() => undefined)
    return diskFull(error, folder, {
      needed,
      ...(space && { free: space.bavail * space.bsize }),
      kept: kept !== undefined,
    })
  }
  return error.code === undefined ? error : cannotWrite(error, folder)
}
