/** @file What the tables of a job will take, estimated from a sample of its data: rows, memory, disk, and what of it does not fit. */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { LoadedConfig } from '../../base/config/index.ts'
import { sizeOf, sizeText } from '../../base/util/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { tierFolder } from '../../weights/params/index.ts'
import { sampleGrowth, slotTables } from '../passes/index.ts'
import { createParams, type DataFiles, inputOf, openFirstReader } from '../threads/index.ts'

/** Of a row's place in the index; a row on the disk takes 11 bits of memory, and its sign and the rest of its page there. */
const INDEX_BYTES = 32
const BITS_ON_DISK = 11
const DISK_FACTOR = 1.3

export interface TableForecast {
  readonly table: string
  /** After one epoch. */
  readonly rows: number
  readonly rowBytes: number
  /** Within the limit, where there is one. */
  readonly memoryBytes: number
  readonly diskBytes: number
  /** What will go wrong, and what to do. */
  readonly warnings: readonly string[]
}

/** How one table is kept, and what there is for it. */
export interface TableRoom {
  readonly limitBytes?: number | undefined
  readonly onDisk: boolean
  /** Of this host. */
  readonly memoryBytes: number
  readonly freeDiskBytes?: number | undefined
}

/** Estimates from the first samples of the training data, whose distinct ids are taken to grow as a power of their number. */
export async function forecastTables(
  { config }: LoadedConfig,
  model: TracedModel,
  { train = [] }: DataFiles,
): Promise<readonly TableForecast[]> {
  if (train.length === 0 || model.train.tables.length === 0) return []
  const sparse = model.slots.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
  const { format } = inputOf(config, 'train', train)
  const pool = await openFirstReader(config, 'train', model.slots, train)
  try {
    const reader = pool.read({ files: train, format, epoch: 0, batchSize: 4096 })
    const growth = await sampleGrowth(reader, slotTables(model.train, sparse), sparse.length)
    const rows = growth.rowsOf(growth.samples)
    const { tables } = createParams(config, model, model, 1)
    return await Promise.all(
      tables.map(async ({ name, rowBytes }, t) => {
        const { table_class, memory_limit, ssd_path = tierFolder(config.runner) } = config.table_parameters[name] ?? {}
        const onDisk = table_class === 'SSDSparseTable'
        const half = onDisk ? Math.floor(process.availableMemory() / 2 / tables.length) : undefined
        return forecastTable(name, rows[t]!, rowBytes, {
          onDisk,
          limitBytes: memory_limit === undefined ? half : sizeOf(memory_limit),
          memoryBytes: process.availableMemory(),
          freeDiskBytes: onDisk ? await freeBytes(ssd_path) : undefined,
        })
      }),
    )
  } finally {
    await pool.close()
  }
}

export function forecastTable(table: string, rows: number, rowBytes: number, room: TableRoom): TableForecast {
  const { limitBytes, onDisk, memoryBytes, freeDiskBytes } = room
  const wanted = rows * (rowBytes + INDEX_BYTES)
  const isOver = limitBytes !== undefined && wanted > limitBytes
  const held = isOver ? Math.floor(limitBytes / (rowBytes + INDEX_BYTES)) : rows
  const diskBytes = onDisk ? Math.ceil((rows - held) * (rowBytes + 8) * DISK_FACTOR) : 0
  const key = `table_parameters.${table}`
  const warnings: string[] = []
  if (limitBytes === undefined && wanted > 0.9 * memoryBytes)
    warnings.push(
      `${sizeText(wanted)} do not fit into the ${sizeText(memoryBytes)} of memory that are free here: set ${key}.table_class: SSDSparseTable, or spread the table over parameter servers`,
    )
  if (isOver && !onDisk)
    warnings.push(
      `its memory_limit of ${sizeText(limitBytes)} holds about ${held.toLocaleString('en-US')} of them, the others will be given up: set ${key}.table_class: SSDSparseTable to keep them`,
    )
  if (isOver && onDisk && (rows * BITS_ON_DISK) / 8 > limitBytes / 2)
    warnings.push(`finding rows on the disk takes more than half of its memory_limit of ${sizeText(limitBytes)}`)
  // Twice: while runs are merged, both are there.
  if (freeDiskBytes !== undefined && 2 * diskBytes > freeDiskBytes)
    warnings.push(
      `its disk has ${sizeText(freeDiskBytes)} free, and up to ${sizeText(2 * diskBytes)} are needed while runs are merged: name a larger one by ${key}.ssd_path`,
    )
  return { table, rows, rowBytes, memoryBytes: isOver ? limitBytes : wanted, diskBytes, warnings }
}

/** One line for people, and one a warning. */
export function forecastText({ table, rows, memoryBytes, diskBytes, warnings }: TableForecast): readonly string[] {
  const disk = diskBytes > 0 ? ` and ${sizeText(diskBytes)} on the disk` : ''
  return [
    `table ${table}: about ${rows.toLocaleString('en-US')} rows after an epoch, ${sizeText(memoryBytes)} of memory${disk}`,
    ...warnings.map((warning) => `warning: table ${table}: ${warning}`),
  ]
}

/** Of the disk that a folder is on, or will be. */
async function freeBytes(folder: string): Promise<number | undefined> {
  let at = resolve(folder)
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at)
  const { bavail, bsize } = await statfs(at)
  return bavail * bsize
}
