/** @file A whole model of this process as Paddle's files: sparse tables 000 ..., the dense one after them. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { loadTableText, type SaveMode, saveTableText, tableFolder } from '../table/index.ts'
import { type DenseTextOptions, type DenseValues, loadDenseText, saveDenseText } from './dense-text.ts'
import type { LocalParams } from './local.ts'
import { matchVars } from './paddle-order.ts'
import { readPlugin } from './paddle-vars.ts'

/** Whether a folder is one that Paddle's servers wrote, not a checkpoint: it holds text of tables, `000/part-...`. */
export async function isPaddleFolder(folder: string): Promise<boolean> {
  const first = await stat(join(folder, tableFolder(0))).catch(() => undefined)
  return first?.isDirectory() ?? false
}

/** Rows done so far, of a table that has so many in all (or about). */
export type OnTableRows = (table: string, rows: number, ofRows: number) => void

export interface SavePaddleOptions {
  readonly folder: string
  /** @default 0: everything */
  readonly mode?: SaveMode
  /** Part files are named as so many servers would. @default 1 */
  readonly servers?: number
  /** @default 1000, as on Paddle's CPU servers */
  readonly shards?: number
  readonly compress?: boolean
  readonly onRows?: OnTableRows
}

/** Returns the rows of all tables. No thread may train meanwhile. */
export async function savePaddleModel(params: LocalParams, options: SavePaddleOptions): Promise<number> {
  const { folder, mode = 0, servers = 1, shards = 1000, compress = true, onRows } = options
  const { steps, layout } = params.dense
  let rows = 0
  for (const [number, table] of params.tables.entries()) {
    const { optimizer } = params.handle.tables[number]!
    const serverOf = (shard: number) => Math.floor(shard / Math.ceil(shards / servers))
    const range = { server: 0, first: 0, count: shards, shards, serverOf }
    rows += await saveTableText({
      folder,
      number,
      table,
      optimizer,
      steps,
      range,
      mode,
      compress,
      onRows: (done) => onRows?.(table.name, done, table.rowCount),
    })
  }
  const bytes = params.dense.bytes()
  const values = new Float32Array(bytes.slice().buffer)
  await saveDenseText({ folder, number: params.tables.length, layout }, { values, steps }, { servers, compress })
  return rows
}

export interface LoadPaddleOptions {
  readonly folder: string
  readonly onRows?: OnTableRows
}

/** Fills `params`, which must be new: rows that are there stay. Returns the rows of all tables. */
export async function loadPaddleModel(params: LocalParams, { folder, onRows }: LoadPaddleOptions): Promise<number> {
  let rows = 0
  for (const [number, table] of params.tables.entries()) {
    const { optimizer } = params.handle.tables[number]!
    const report = (done: number, fraction: number) =>
      onRows?.(table.name, done, Math.round(done / Math.max(fraction, 1e-9)))
    rows += await loadTableText({ folder, number, table, optimizer, onRows: report })
  }
  const { dense, tables } = params
  const bytes = dense.bytes()
  const all = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
  const options = { folder, number: tables.length, layout: dense.layout }
  const loaded = await loadPaddleDense(options, { values: all, steps: dense.steps })
  all.set(loaded.values)
  dense.restoreSteps(loaded.steps)
  return rows
}

/** Dense weights out of `dnn_plugin/` where there is one, whose names say what is what; else out of the dense table. */
export async function loadPaddleDense(options: DenseTextOptions, before: DenseValues): Promise<DenseValues> {
  const vars = await readPlugin(options.folder)
  if (!vars) return loadDenseText(options, before.values)
  const values = before.values.slice()
  for (const [{ at }, own] of matchVars(vars, options.layout.entries, options.folder)) values.set(own.values, at)
  return { values, steps: before.steps }
}
