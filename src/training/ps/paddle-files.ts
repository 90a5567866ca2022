/** @file A worker asks the servers to save, load or shrink their tables, in Paddle's text form. Nobody may train meanwhile. */
import { type DenseLayout, loadPaddleDense, type Slice, saveDenseText } from '../../weights/params/index.ts'
import type { SaveMode } from '../../weights/table/index.ts'
import { type AskedTask, askServers, numbersOf } from './ask-servers.ts'
import { gatherDense, scatterDense } from './gather.ts'
import type { ServerGroup } from './server-group.ts'

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

/** What a save of `mode` changes once it is done, without one. */
export async function settleTables(servers: ServerGroup, tables: readonly number[], mode: SaveMode): Promise<void> {
  await askAll(servers, { kind: 'settle', mode, tables })
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

/** Asks until every server is done; returns the rows of all. */
async function askAll(
  servers: ServerGroup,
  asked: AskedTask,
  onRows: (table: number, rows: number) => void = () => undefined,
): Promise<number> {
  const answers = await askServers(servers, numbersOf(servers), asked, onRows)
  return answers.reduce((sum, { rows }) => sum + Object.values(rows).reduce((all, count) => all + count, 0), 0)
}
