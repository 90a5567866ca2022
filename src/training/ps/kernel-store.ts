/** @file A server's weights on the kernels: the same tables, dense block and optimizer rules that train in one process. */

import type { Program } from '../../graph/program/index.ts'
import { type OptimizerSpec, stepFactors } from '../../weights/optim/index.ts'
import {
  createLocalParams,
  LocalParams,
  type LocalParamsHandle,
  type LocalParamsOptions,
  mergeDense,
  openTiers,
  type RowGradients,
  type SignGroups,
  type Slice,
  type StateRun,
  stateRuns,
} from '../../weights/params/index.ts'
import type { DistinctSigns } from '../../weights/table/index.ts'
import { memoryLimit } from './errors.ts'
import type { RowShape } from './geo-rules.ts'
import { GeoTables } from './geo-tables.ts'
import { PulledRows } from './pulled-rows.ts'
import { updatesOf } from './repeated-rows.ts'
import type { Contribution, DenseState, ExchangedRows, Gradients, ParamStore, PushOptions, RowBlock } from './store.ts'

export interface KernelStoreOptions extends Omit<LocalParamsOptions, 'threads' | 'denseSlice'> {
  readonly program: Program
  readonly segments: number
  /** This server's part of the dense layout. */
  readonly slice: Slice
  /** New rows are refused beyond so many bytes of tables. @default no limit */
  readonly memoryLimitBytes?: number | undefined
  /** Names the server in errors. @default 'this server' */
  readonly who?: string | undefined
  /** Threads that will serve from it. @default 1 */
  readonly serverThreads?: number | undefined
  /** Where rows go that a memory_limit leaves no room for. @default tables have no limits */
  readonly tierFolder?: string | undefined
}

/** A store as plain data plus its shared memories: goes to further threads of the server. */
export interface AttachedStore {
  readonly options: KernelStoreOptions
  readonly handle: LocalParamsHandle
}

const atOnce = (applyRows: () => void) => applyRows()

export class KernelStore implements ParamStore {
  readonly precision = 'float32'
  readonly dims: readonly number[]
  params: LocalParams
  #handle: LocalParamsHandle
  readonly #create: () => LocalParamsHandle
  readonly #stateRuns: readonly StateRun[]
  readonly #rows: Float32Array[]
  readonly #pulled = new PulledRows()
  #ahead = new Float32Array(0)
  #exchanged: GeoTables
  readonly #options: KernelStoreOptions
  readonly #thread: number

  /** With a handle: the same weights in another thread. */
  constructor(options: KernelStoreOptions, handle?: LocalParamsHandle, thread = 0) {
    const { slice: denseSlice, serverThreads: threads = 1, tierFolder: _, ...created } = options
    this.#options = options
    this.#thread = thread
    this.#create = () => createLocalParams({ ...created, threads, denseSlice })
    this.#handle = handle ?? this.#create()
    this.params = new LocalParams(this.#handle, thread)
    this.#exchanged = new GeoTables(this.#handle.tables, thread)
    if (!handle) this.#openTiers()
    this.dims = this.params.tables.map(({ dim }) => dim)
    this.#stateRuns = stateRuns(options.program, this.params.dense.layout)
    this.#rows = this.dims.map(() => new Float32Array(0))
  }

  /** What another thread needs to serve from it too. */
  get attached(): AttachedStore {
    return { options: this.#options, handle: this.#handle }
  }

  /** The first thread has other memory now. */
  reattach({ handle }: AttachedStore): void {
    this.#handle = handle
    this.params = new LocalParams(handle, this.#thread)
    this.#exchanged = new GeoTables(handle.tables, this.#thread)
    this.#pulled.forget()
  }

  get denseSize(): number {
    return this.params.dense.layout.floats
  }

  get rowCounts(): readonly number[] {
    return this.params.tables.map(({ rowCount }) => rowCount)
  }

  get steps(): number {
    return this.params.dense.steps
  }

  /** New rows are refused beyond so many bytes of tables. */
  get memoryLimitBytes(): number {
    return this.#options.memoryLimitBytes ?? Number.POSITIVE_INFINITY
  }

  /** The optimizer of a table. */
  optimizerOf(table: number): OptimizerSpec {
    return this.params.rows.optimizerOf(table)
  }

  /** Bytes of all tables. */
  get usedBytes(): number {
    return this.params.tables.reduce((sum, { usedBytes }) => sum + usedBytes, 0)
  }

  pull(signs: SignGroups, insert: boolean, contributor?: number): Float32Array[] {
    if (insert) this.#checkMemory()
    const addressList = insert && contributor !== undefined ? this.#pulled.note(contributor, signs.groups) : 0
    const tables = signs.tableGroups.map((group, table) => {
      const distinct = signs.groups[group]!
      return { table, distinct, rows: this.#rowsOf(table, distinct.signs.length * this.dims[table]!) }
    })
    const before = this.#evicted
    this.params.rows.lookup(tables, { insert, step: this.steps + 1, addressList })
    if (this.#evicted > before) this.#pulled.forget()
    return tables.map(({ rows }) => rows)
  }

  pullDense(ahead = 0): Float32Array {
    // The direction is that of the last step; before the first there is none.
    if (ahead === 0 || this.steps === 0) return this.params.dense.weights
    if (this.#ahead.length !== this.denseSize) this.#ahead = new Float32Array(this.denseSize)
    this.params.dense.pullAhead(this.#ahead, stepFactors(this.#handle.dense.optimizer, this.steps), ahead)
    return this.#ahead
  }

  push(pushed: Gradients, options: PushOptions = {}): number {
    const { later = atOnce, into, ahead = 0, contributor, rowsAlone = false } = options
    const { dense, rows } = this.params
    const { groups, tableGroups, gradients, showClick, samples = 1 } = pushed
    const step = rowsAlone ? Math.max(1, this.steps) : dense.nextStep()
    if (!rowsAlone) {
      const factors = stepFactors(this.#handle.dense.optimizer, step)
      dense.push(pushed.dense as Float32Array, factors, { into: into as Float32Array | undefined, ahead })
    }
    later(() => {
      if (rowsAlone) return this.#updateRows(pushed, step)
      const addressList = contributor === undefined ? undefined : this.#pulled.find(contributor, groups)
      const tables = tableGroups.map((group, table) => ({
        table,
        distinct: groups[group]!,
        gradients: gradients[table] as Float32Array,
        showClick: showClick?.[group],
        unseen: addressList === undefined,
      }))
      const before = this.#evicted
      rows.apply(tables, { step, samples, addressList })
      if (this.#evicted > before) this.#pulled.forget()
    })
    return step
  }

  #updateRows(summed: RowGradients, step: number): void {
    const before = this.#evicted
    for (const { groups, tableGroups, gradients } of updatesOf(summed)) {
      const tables = tableGroups.map((group, table) => ({
        ...{ table, distinct: groups[group]!, unseen: true },
        gradients: gradients[table] as Float32Array,
      }))
      this.params.rows.apply(tables, { step, samples: 1 })
    }
    if (this.#evicted > before) this.#pulled.forget()
  }

  get shapes(): readonly RowShape[] {
    return this.#exchanged.shapes
  }

  pullRows(signs: SignGroups): Pick<ExchangedRows, 'gradients' | 'states'> {
    this.#checkMemory()
    return this.#exchanged.pull(signs)
  }

  addRows(rows: Parameters<ParamStore['addRows']>[0]): void {
    this.#exchanged.add(rows)
  }

  /** One row, weight and state; undefined where there is none. */
  row(table: number, sign: bigint): Uint8Array | undefined {
    return this.params.tables[table]!.row(this.distinctOf(sign))
  }

  /** A sign alone, as a request about it would have it. */
  distinctOf(sign: bigint): DistinctSigns {
    return this.params.rows.merger.distinct([BigUint64Array.of(sign)])
  }

  /** The weights that a row would begin with. */
  initial(table: number, sign: bigint): Float32Array {
    const weights = new Float32Array(this.dims[table]!)
    this.params.tables[table]!.lookup(this.distinctOf(sign), weights, false)
    return weights
  }

  shrink(table: number): number {
    return this.params.tables[table]!.shrink()
  }

  scan(table: number): Generator<RowBlock> {
    return this.params.tables[table]!.scan()
  }

  changed(table: number): Generator<RowBlock> {
    return this.params.tables[table]!.changed()
  }

  forgetChanges(): void {
    for (const table of this.params.tables) table.forgetChanges()
  }

  load(table: number, { signs, rows }: RowBlock): void {
    this.#checkMemory()
    this.params.tables[table]!.load(signs, rows)
  }

  dense(): DenseState {
    return { bytes: this.params.dense.bytes(), steps: this.steps }
  }

  reset(): void {
    for (const { tier } of this.params.tables) tier?.close()
    this.reattach({ options: this.#options, handle: this.#create() })
    this.#openTiers()
  }

  loadDense({ bytes, steps }: DenseState): void {
    this.params.dense.bytes().set(bytes)
    this.params.dense.restoreSteps(steps)
  }

  merge(contributions: readonly Contribution[]): Gradients {
    const parts = contributions.filter(({ samples }) => samples > 0)
    if (parts.length === 1) return parts[0]!
    const total = parts.reduce((sum, { samples }) => sum + samples, 0)
    const weights = parts.map(({ samples }) => samples / total)
    const rows = this.params.rows.merge(parts, weights)
    const before = unfilled(this.denseSize)
    if (this.#stateRuns.length > 0) this.params.dense.pull(before)
    const gradients = parts.map((part) => part.dense)
    const dense = mergeDense(gradients, weights, this.#stateRuns, before, unfilled(this.denseSize))
    return { ...rows, dense, samples: total }
  }

  #openTiers(): void {
    const { tierFolder: folder, tableParameters: parameters = {} } = this.#options
    if (folder !== undefined) openTiers({ tables: this.params.tables, parameters, folder })
  }

  /** Rows that have left memory so far. */
  get #evicted(): number {
    return this.params.tables.reduce((sum, { tier }) => sum + (tier?.evicted ?? 0), 0)
  }

  #checkMemory(): void {
    const { usedBytes, memoryLimitBytes } = this
    if (usedBytes > memoryLimitBytes) throw memoryLimit(this.#options.who ?? 'this server', usedBytes, memoryLimitBytes)
  }

  #rowsOf(table: number, values: number): Float32Array {
    if (this.#rows[table]!.length < values) this.#rows[table] = new Float32Array(2 * values)
    return this.#rows[table]!.subarray(0, values)
  }
}

/** Room that will be written whole: clearing it first would cost as much as filling it. */
function unfilled(values: number): Float32Array<ArrayBuffer> {
  return new Float32Array(Buffer.allocUnsafeSlow(4 * values).buffer, 0, values)
}
