/** @file What is done to whole tables where they lie, in this process or on servers: Paddle's text files, settling a save, a day's end. */
import type { JobConfig } from '../../base/config/index.ts'
import { type LocalParams, loadPaddleModel, saveDenseText, savePaddleModel } from '../../weights/params/index.ts'
import { DEFAULT_SHARDS, type SaveMode } from '../../weights/table/index.ts'
import { type ServerGroup, saveTables, settleTables, shrinkTables } from '../ps/index.ts'
import type { WholeModel } from './checkpoint.ts'

/** Nobody may train meanwhile. */
export interface TableWork {
  /** Writes Paddle's files of all tables, the dense one included, into a folder, and settles them. Returns the rows. */
  saveText(folder: string, mode: SaveMode): Promise<number>
  /** As after a save of `mode`: deltas start anew, or a day has passed. */
  settle(mode: SaveMode): Promise<void>
  /** Show and click fade, rows worth too little go. Returns how many. */
  shrink(): Promise<number>
}

export function localTableWork({ table_parameters }: JobConfig, params: LocalParams): TableWork {
  const { shards, compress } = textForm(table_parameters)
  return {
    saveText: (folder, mode) => savePaddleModel(params, { folder, mode, shards, compress }),
    settle: async (mode) => {
      for (const table of params.tables) table.settle(mode)
    },
    shrink: async () => params.tables.reduce((sum, table) => sum + table.shrink(), 0),
  }
}

/** `params` holds the dense weights, gathered; rows stay on the servers. */
export function serverTableWork({ table_parameters }: JobConfig, servers: ServerGroup, params: LocalParams): TableWork {
  const tables = params.tables.map((_, t) => t)
  const { compress } = textForm(table_parameters)
  return {
    saveText: async (folder, mode) => {
      const rows = await saveTables(servers, { folder, tables, mode, compress })
      const { dense } = params
      const values = new Float32Array(dense.bytes().slice().buffer)
      const where = { folder, number: tables.length, layout: dense.layout }
      await saveDenseText(where, { values, steps: dense.steps }, { servers: servers.size, compress })
      return rows
    },
    settle: (mode) => settleTables(servers, tables, mode),
    shrink: () => shrinkTables(servers, tables),
  }
}

/** Fills a job's weights from Paddle's files, which hold no steps of dense optimizers. */
export async function loadPaddleTables({ params, storeRows }: WholeModel, folder: string): Promise<void> {
  await loadPaddleModel(params, { folder })
  if (!storeRows) return
  for (const [t, table] of params.tables.entries()) {
    for (const { signs, rows } of table.scan()) await storeRows(t, { signs: signs.slice(), rows: rows.slice() }, false)
    table.clear()
  }
}

function textForm(parameters: JobConfig['table_parameters']) {
  const own = Object.values(parameters)
  return {
    shards: own.find(({ shard_num }) => shard_num)?.shard_num ?? DEFAULT_SHARDS,
    compress: own.every(({ compress_in_save }) => compress_in_save !== false),
  }
}
