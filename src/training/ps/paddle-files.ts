/** @file A worker asks the servers to save, load or shrink their tables, in Paddle's text form. Nobody may train meanwhile. */
import { randomUUID } from 'node:crypto'
import { readJson } from '../../base/net/index.ts'
import { type DenseLayout, loadPaddleDense, type Slice, saveDenseText } from '../../weights/params/index.ts'
import type { SaveMode } from '../../weights/table/index.ts'
import { gatherDense, scatterDense } from './gather.ts'
import { METHODS } from './protocol.ts'
import type { ServerGroup } from './server-group.ts'
import { readTaskAnswer, type TableTask } from './table-tasks.ts'

export interface PaddleFilesOptions {
  /** A folder that every server reaches under this path. */
  readonly folder: string
  /** Numbers of the sparse tables. */
  readonly tables: readonly number[]
  /** Rows done so far, of all servers. */
  readonly onRows?: (table: number, rows: number) => void
}

export interface SaveTablesOptions extends PaddleFilesOptions {
  /** @default 0: everything */
  readonly mode?: SaveMode
  /** @default true: .gz for modes 0 and 3 */
  readonly compress?: boolean
}

/** Each server writes the shards it owns; returns the rows of all. */
export function saveTables(servers: ServerGroup, options: SaveTablesOptions): Promise<number> {
  const { folder, tables, mode = 0, compress = true, onRows } = options
  return askAll(servers, { kind: 'save', folder, mode, compress, tables }, onRows)
}

/** Each server reads the shards it owns; returns the rows of all. */
export function loadTables(servers: ServerGroup, { folder, tables, onRows }: PaddleFilesOptions): Promise<number> {
  return askAll(servers, { kind: 'load', folder, tables }, onRows)
}

/** A day has passed: show and click fade, rows that are worth too little go. Returns how many went. */
export function shrinkTables(servers: ServerGroup, tables: readonly number[]): Promise<number> {
  return askAll(servers, { kind: 'shrink', tables })
}

export interface DenseFilesOptions {
  readonly folder: string
  /** Of the dense table: the one after the sparse ones. */
  readonly number: number
  readonly layout: DenseLayout
  readonly slices: readonly Slice[]
  readonly compress?: boolean
}

/** Gathers the dense weights and writes them as the servers' parts. */
export async function saveDenseFiles(servers: ServerGroup, options: DenseFilesOptions): Promise<void> {
  const { slices, compress = true, ...where } = options
  const { bytes, steps } = await gatherDense(servers, slices)
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
  await saveDenseText(where, { values, steps }, { servers: servers.size, compress })
}

/** Reads dense weights (out of `dnn_plugin/` where there is one) and gives them to the servers. */
export async function loadDenseFiles(servers: ServerGroup, options: DenseFilesOptions): Promise<void> {
  const { bytes, steps } = await gatherDense(servers, options.slices)
  const before = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
  const loaded = await loadPaddleDense(options, { values: before, steps })
  await scatterDense(servers, options.slices, { bytes: new Uint8Array(loaded.values.buffer), steps: loaded.steps })
}

type Asked<T> = T extends TableTask ? Omit<T, 'id'> : never

/** Asks until every server is done. */
async function askAll(
  servers: ServerGroup,
  asked: Asked<TableTask>,
  onRows: (table: number, rows: number) => void = () => undefined,
): Promise<number> {
  const body = Buffer.from(JSON.stringify({ ...asked, id: randomUUID() }))
  const rows: Readonly<Record<number, number>>[] = Array.from({ length: servers.size }, () => ({}))
  const report = () => {
    const done = (table: number) => rows.reduce((sum, own) => sum + (own[table] ?? 0), 0)
    for (const table of asked.tables) onRows(table, done(table))
  }
  const ask = async (server: number) => {
    for (let done = false; !done; ) {
      const text = await servers.request(server, METHODS.tables, [body], `${asked.kind}(tables)`)
      const answer = readJson(text, 'progress', readTaskAnswer)
      rows[server] = answer.rows
      done = answer.done
      report()
    }
  }
  await Promise.all(rows.map((_, server) => ask(server)))
  return rows.reduce((sum, own) => sum + Object.values(own).reduce((all, count) => all + count, 0), 0)
}
