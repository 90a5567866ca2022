/**
 * @file Rows of a pass on a device: uploaded when the pass begins, gathered and trained there by one graph a step, brought back at its end.
 * In between the pass's tables in memory hold the numbers of rows on the device in place of the rows, so that a pull finds them.
 */
import type { Device } from '../../base/device/index.ts'
import { openTableSession, type TableSession, type TypedView } from '../../graph/engine/index.ts'
import { rowsInputs, TABLE_STEP_RULES, tableInputs } from '../../graph/onnx/index.ts'
import type { Pooling, Program, TensorType } from '../../graph/program/index.ts'
import { kernelRule, type OptimizerSpec, stepFactors } from '../../weights/optim/index.ts'
import { type LocalParams, RowStore, type RowTableHandle } from '../../weights/params/index.ts'
import type { SparseTable } from '../../weights/table/index.ts'
import type { Moved, PassHandle, PassRows, Side } from '../passes/index.ts'
import type { RowsRegions, StepBuffers, StepViews } from './buffers.ts'
import { type DistinctBatch, lengthOf } from './rows.ts'
import type { StepGraph } from './step-graph.ts'

export interface DeviceRowsOptions {
  readonly program: Program
  readonly device: Device
  readonly handle: PassHandle
  readonly params: LocalParams
  readonly thread: number
  /** Around everything that the device does. */
  readonly guard: <T>(work: () => Promise<T>) => Promise<T>
}

/** Where the rows of passes are trained; in memory, `why` a device that computes the rest does not. */
export type RowsPlace = { readonly on: 'device' } | { readonly on: 'host'; readonly why?: string | undefined }

export function rowsPlace(
  { tables, count }: { readonly tables: readonly RowTableHandle[]; readonly count: number },
  { provider, name }: Device,
  clips: boolean,
): RowsPlace {
  const host = (why?: string): RowsPlace => ({ on: 'host', why })
  if (provider === 'cpu') return host()
  if (provider === 'cuda') return host('CUDA keeps no tensors on the device between steps')
  if (count > 1) return host(`${count} devices train together, whose rows meet in memory`)
  if (clips) return host('gradients are clipped by those of all rows')
  for (const { name: table, layout, optimizer } of tables) {
    if (layout.accessor) return host(`table "${table}" has an accessor`)
    if (layout.precision !== 'float32') return host(`the weights of table "${table}" are ${layout.precision}`)
    if (layout.rule.clocked)
      return host(`Adam moves every row of table "${table}" in every step (lazy: true moves those of the batch)`)
    if (!TABLE_STEP_RULES.includes(optimizer.kind)) return host(`${name} has no rule ${optimizer.kind}`)
  }
  return { on: 'device' }
}

export async function openDeviceRows(options: DeviceRowsOptions): Promise<PassRows & StepGraph> {
  const { program, device, handle, guard } = options
  const optimizerOf = new Map(handle.host.tables.map(({ name, optimizer }) => [name, optimizer]))
  const ruleOf = (table: string) => {
    const own = optimizerOf.get(table)!
    return { ...kernelRule(own), l2: own.l2 }
  }
  const session = await guard(() => openTableSession({ program, device, ruleOf }))
  return new DeviceRows(options, session, optimizerOf)
}

/** A table of the pass: which signs have which numbers, and the table in memory that says so. */
interface Numbered {
  readonly table: SparseTable
  readonly signs: BigUint64Array<ArrayBuffer>
}

class DeviceRows implements PassRows, StepGraph {
  readonly trainsRows = true
  readonly #options: DeviceRowsOptions
  readonly #session: TableSession
  readonly #optimizerOf: ReadonlyMap<string, OptimizerSpec>
  readonly #types: ReadonlyMap<string, TensorType>
  readonly #stores: readonly RowStore[]
  readonly #host: RowStore
  #numbered: readonly Numbered[] = []
  #ready: Record<string, TypedView> = {}

  constructor(options: DeviceRowsOptions, session: TableSession, optimizerOf: ReadonlyMap<string, OptimizerSpec>) {
    const { program, handle, thread, params } = options
    this.#options = options
    this.#session = session
    this.#optimizerOf = optimizerOf
    const inner = new Set(program.rows.flatMap(({ name }) => [name, `grad:${name}`]))
    const outer = [...program.feeds, ...program.parameters, ...program.state, ...program.fetches]
    this.#types = new Map(outer.filter(({ name }) => !inner.has(name)).map((item) => [item.name, item]))
    this.#stores = handle.sides.map((tables) => new RowStore(tables, thread))
    this.#host = params.rows
  }

  async begin(side: Side): Promise<Moved> {
    const before = this.#session.movedBytes
    const store = this.#stores[side]!
    const numbered: Numbered[] = []
    for (const table of store.tables) {
      const { signs, rows } = takeRows(table)
      const whole = { data: rows, dims: [signs.length + 1, table.rowBytes / 4] }
      await this.#options.guard(() => this.#session.upload(table.name, whole))
      writeNumbers(table, signs)
      numbered.push({ table, signs })
    }
    this.#numbered = numbered
    this.#options.params.rows = store
    return { bytes: this.#session.movedBytes - before }
  }

  async end(): Promise<Moved> {
    const before = this.#session.movedBytes
    for (const { table, signs } of this.#numbered) {
      const rows = await this.#options.guard(() => this.#session.download(table.name))
      table.load(signs, new Uint8Array(rows.buffer, rows.byteOffset, signs.length * table.rowBytes))
    }
    this.#numbered = []
    this.#options.params.rows = this.#host
    return { bytes: this.#session.movedBytes - before }
  }

  expand(buffers: StepBuffers, batch: DistinctBatch): void {
    const { params } = this.#options
    const views: Record<string, TypedView> = {}
    for (const { table: t, rows: pulled, distinct } of batch.tables) {
      const { table, signs } = this.#numbered[t]!
      const unique = numbersOf(pulled, table.dim, distinct.signs, signs)
      const names = tableInputs(table.name)
      const factors = stepFactors(this.#optimizerOf.get(table.name)!, params.dense.steps + 1)
      views[names.unique] = { data: unique, dims: [unique.length], dtype: 'int32' }
      views[names.merged] = zeros(unique.length, table.dim)
      views[names.rate] = { data: Float32Array.of(factors.rate), dims: [1], dtype: 'float32' }
      views[names.aux] = { data: Float32Array.of(factors.aux), dims: [1], dtype: 'float32' }
    }
    for (const rows of buffers.rows) Object.assign(views, occurrencesOf(rows, buffers, batch))
    this.#ready = views
  }

  async run(_buffers: StepBuffers, _batch: DistinctBatch, views: () => StepViews): Promise<void> {
    const { inputs, outputs } = views()
    const typed = (all: StepViews['inputs']): Record<string, TypedView> =>
      Object.fromEntries(
        Object.entries(all).flatMap(([name, view]) => {
          const type = this.#types.get(name)
          return type ? [[name, { ...view, dtype: type.dtype }] as const] : []
        }),
      )
    const [feeds, fetches] = [{ ...typed(inputs), ...this.#ready }, typed(outputs)]
    await this.#options.guard(() => this.#session.run(feeds, fetches))
  }

  close(): Promise<void> {
    return this.#options.guard(() => this.#session.close())
  }
}

/** Every row of a table, and behind them one of zeros that belongs to no sign: for batches without any. */
function takeRows(table: SparseTable) {
  const signs = new BigUint64Array(table.rowCount)
  const rows = new Float32Array(((signs.length + 1) * table.rowBytes) / 4)
  const bytes = new Uint8Array(rows.buffer)
  let at = 0
  for (const part of table.scan()) {
    signs.set(part.signs, at)
    bytes.set(part.rows, at * table.rowBytes)
    at += part.signs.length
  }
  return { signs, rows }
}

const NUMBERED_AT_ONCE = 65_536

/** In place of each row its number: the first four bytes. */
function writeNumbers(table: SparseTable, signs: BigUint64Array): void {
  const width = table.rowBytes / 4
  for (let first = 0; first < signs.length; first += NUMBERED_AT_ONCE) {
    const some = signs.subarray(first, first + NUMBERED_AT_ONCE)
    const rows = new Int32Array(some.length * width)
    for (let i = 0; i < some.length; i++) rows[i * width] = first + i
    table.load(some, new Uint8Array(rows.buffer))
  }
}

/** The numbers that a pull found in place of weights. A sign whose number is another's was not collected. */
function numbersOf(pulled: Float32Array, dim: number, wanted: BigUint64Array, signs: BigUint64Array): Int32Array {
  if (wanted.length === 0) return Int32Array.of(signs.length)
  const found = new Int32Array(pulled.buffer, pulled.byteOffset, pulled.length)
  const numbers = new Int32Array(wanted.length)
  const low = (all: BigUint64Array) => new Uint32Array(all.buffer, all.byteOffset, 2 * all.length)
  const [own, all] = [low(wanted), low(signs)]
  for (let i = 0; i < numbers.length; i++) {
    const number = found[i * dim]!
    if (
      number < 0 ||
      number >= signs.length ||
      all[2 * number] !== own[2 * i] ||
      all[2 * number + 1] !== own[2 * i + 1]
    )
      throw new Error(`internal: sign ${wanted[i]} is not among those that were collected for this pass`)
    numbers[i] = number
  }
  return numbers
}

const FACTORS: Readonly<Record<Pooling, (count: number) => number>> = {
  sum: () => 1,
  mean: (count) => 1 / count,
  sqrtn: (count) => 1 / Math.sqrt(count),
  sequence: () => 1,
}

/** Which sign goes where: one after the other as the batch has them; of sequences also what the mask is. */
function occurrencesOf(rows: RowsRegions, { groups, workspace }: StepBuffers, batch: DistinctBatch) {
  const { spec, targets, mask } = rows
  const { room, counts, slots } = groups[rows.group]!
  const { buffer } = workspace
  const cells = new Uint32Array(buffer, counts.at, batch.samples * slots.length)
  const all = cells.reduce((sum, count) => sum + count, 0)
  const places = new Uint32Array(buffer, room.at.inverse, all)
  const length = mask ? lengthOf(rows, batch) : spec.slots.length
  const isThere = mask && new Float32Array(buffer, mask.at, batch.samples * length).fill(0)
  const [inverse, cell, factor] = [new Int32Array(all || 1), new Int32Array(all || 1), new Float32Array(all || 1)]
  let [from, to] = [0, 0]
  for (const [at, count] of cells.entries()) {
    const [sample, target] = [Math.floor(at / slots.length), targets[at % slots.length]!]
    const kept = target < 0 ? 0 : mask ? Math.min(count, length) : count
    for (let k = 0; k < kept; k++, to++) {
      inverse[to] = places[from + k]!
      cell[to] = sample * length + (mask ? k : target)
      factor[to] = FACTORS[spec.pooling](count)
      if (isThere) isThere[cell[to]!] = 1
    }
    from += count
  }
  // Tensors without elements are no tensors on a device: nothing is one occurrence that counts nothing.
  const n = to || 1
  const names = rowsInputs(spec.name)
  const dims = spec.shape.map((size, axis) => (axis === 0 ? batch.samples : typeof size === 'number' ? size : length))
  const dim = mask ? dims[2]! : dims[1]! / length
  return {
    [names.inverse]: { data: inverse.subarray(0, n), dims: [n], dtype: 'int32' },
    [names.cell]: { data: cell.subarray(0, n), dims: [n], dtype: 'int32' },
    [names.factor]: { data: factor.subarray(0, n), dims: [n, 1], dtype: 'float32' },
    [names.pooled]: zeros(batch.samples * length, dim),
    [names.shape]: { data: BigInt64Array.from(dims, BigInt), dims: [dims.length], dtype: 'int64' },
  } satisfies Record<string, TypedView>
}

const zeros = (rows: number, dim: number): TypedView => ({
  data: new Float32Array(rows * dim),
  dims: [rows, dim],
  dtype: 'float32',
})
