/** @file Tables with a memory limit: which have one, and where their other rows go. */
import { mkdirSync, rmdirSync, rmSync } from 'node:fs'
import { hostname, tmpdir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import type { JobConfig } from '../../base/config/index.ts'
import { makeOwnFolder, removeLeftovers, sizeOf, UserError } from '../../base/util/index.ts'
import type { RowTier, SparseTable, TablesParameters } from '../table/index.ts'

export interface OpenTiersOptions {
  readonly tables: readonly SparseTable[]
  readonly parameters: TablesParameters
  /** Where a disk's rows go that no ssd_path names. */
  readonly folder: string
  /** Rows are asked for batches ahead. @default when they are wanted */
  readonly ahead?: boolean | undefined
}

/** The tables of this process that have a limit; this thread keeps them. Files of processes that were killed are removed. */
export function openTiers({ tables, parameters, folder, ahead }: OpenTiersOptions): readonly (RowTier | undefined)[] {
  const limited = tables.filter(({ name }) => hasLimit(parameters[name]))
  return tables.map((table) => {
    const own = parameters[table.name]
    if (!own || !limited.includes(table)) return undefined
    const { eviction = 'lru', memory_limit, ssd_path = folder } = own
    if (eviction !== 'lru' && !table.accessor) throw noScore(table.name, eviction)
    const isOnDisk = own.table_class === 'SSDSparseTable'
    const memoryLimitBytes =
      memory_limit === undefined ? Math.floor(availableMemory() / 2 / limited.length) : sizeOf(memory_limit)
    return table.openTier({
      memoryLimitBytes,
      eviction,
      folder: isOnDisk ? ownFolder(table.name, ssd_path) : undefined,
      ahead,
    })
  })
}

/** What is read whole, once, to be written in another form: rows beyond a limit pass over the disk. Without a disk a limit does not hold, since rows would be lost. */
export async function throughTiers<T>(
  { tables }: { readonly tables: readonly SparseTable[] },
  { runner, table_parameters: parameters }: Pick<JobConfig, 'runner' | 'table_parameters'>,
  work: () => Promise<T>,
): Promise<T> {
  const onDisk = Object.entries(parameters).filter(([, own]) => own.table_class === 'SSDSparseTable')
  const tiers = openTiers({ tables, parameters: Object.fromEntries(onDisk), folder: tierFolder(runner) })
  try {
    return await work()
  } finally {
    for (const tier of tiers) await tier?.close()
  }
}

/** Where rows lie that no ssd_path names: with the checkpoints, or in the temporary folder where none are saved. */
export function tierFolder({ model_save_path: saved }: Pick<JobConfig['runner'], 'model_save_path'>): string {
  return saved === '' ? tmpdir() : saved
}

/** Whether rows of a table may have to leave memory. */
export function hasLimit(parameters: TablesParameters[string] | undefined): boolean {
  return parameters?.memory_limit !== undefined || parameters?.table_class === 'SSDSparseTable'
}

/** For jobs whose tables are not kept by one thread. */
export function refuseLimits(parameters: TablesParameters, job: string): void {
  const [table] = Object.entries(parameters).find(([, own]) => hasLimit(own)) ?? []
  if (table === undefined) return
  throw new UserError(`table_parameters.${table}: a memory_limit or SSDSparseTable cannot be had ${job} yet`, {
    code: 'TABLE_TIER',
    hint: 'train in one process or on parameter servers (runner.sync_mode async or sync), or take memory_limit and table_class out',
  })
}

/** Geo's workers exchange changes of weights, which are float32. */
export function refusePrecisions(parameters: TablesParameters): void {
  const isReduced = ([, { row_precision = 'float32' }]: [string, TablesParameters[string]]) =>
    row_precision !== 'float32'
  const [table, own] = Object.entries(parameters).find(isReduced) ?? []
  if (!own) return
  throw new UserError(`table_parameters.${table}.row_precision: ${own.row_precision} cannot be had in geo`, {
    code: 'TABLE_PRECISION',
    hint: 'set runner.sync_mode to async or sync, or take row_precision out',
  })
}

/** What this process may have: a container's limit counts. */
function availableMemory(): number {
  const limit = process.constrainedMemory?.() ?? 0
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}

/** Below a folder of this host: on a disk that hosts share, the processes of another look as if they were gone. */
function ownFolder(table: string, parent: string): string {
  const folder = join(resolve(parent), `.rows-${hostname()}`)
  try {
    mkdirSync(folder, { recursive: true })
    removeLeftovers([folder])
    const own = makeOwnFolder('rows', folder)
    // Where a process ends without closing its tables.
    process.once('exit', () => removeOwn(own, folder))
    return own
  } catch (error) {
    throw new UserError(
      `table_parameters.${table}.ssd_path: ${folder} cannot be written: ${(error as Error).message}`,
      {
        code: 'FOLDER_WRITE',
        hint: 'name a folder that can be written, on a local disk with room',
        cause: error,
      },
    )
  }
}

/** The host's folder goes with the last of its processes. */
function removeOwn(own: string, folder: string): void {
  rmSync(own, { recursive: true, force: true })
  try {
    rmdirSync(folder)
  } catch {
    // Another process has rows there.
  }
}

function noScore(table: string, eviction: string): UserError {
  return new UserError(`table_parameters.${table}.eviction: rows of this table have no ${eviction}`, {
    code: 'TABLE_TIER',
    hint: 'set eviction: lru, or give the table an accessor, which counts show, click and days',
  })
}
