/** @file A server's weights on the kernels: the same tables, dense block and optimizer rules that train in one process. */

import { type OptimizerSpec, stepFactors } from '../optim/index.ts'
import {
  counted,
  createLocalParams,
  LocalParams,
  type LocalParamsHandle,
  type LocalParamsOptions,
  type TableShare,
} from '../params/index.ts'
import type { Program } from '../program/index.ts'
import type { DistinctSigns } from '../table/index.ts'
import { memoryLimit } from './errors.ts'
import { mergeDense, type StateRun, stateRuns } from './merge-dense.ts'
import type { Slice } from './placement.ts'
import type { SignGroups } from './protocol.ts'
import { PulledRows } from './pulled-rows.ts'
import { SignMerger } from './sign-merger.ts'
import type { Contribution, DenseState, Gradients, ParamStore, PushOptions, RowBlock } from './store.ts'

export interface KernelStoreOptions extends Omit<LocalParamsOptions, 'threads' | 'denseSlice'> {
  readonly program: Program
  readonly segments: number
  /** This server's part of the dense layout. */
  readonly slice: Slice
  /** New rows are refused beyond so many bytes of tables. @default no limit */
  readonly memoryLimitBytes?: number
  /** Names the server in errors. @default 'this server' */
  readonly who?: string
  /** Threads that will serve from it. @default 1 */
  readonly serverThreads?: number
}

/** A store as plain data plus its shared memories: goes to further threads of the server. */
export interface AttachedStore {
  readonly options: KernelStoreOptions
  readonly handle: LocalParamsHandle
}

const NOTHING = new Float32Array(0)
const atOnce = (applyRows: () => void) => applyRows()

export class KernelStore implements ParamStore {
  readonly precision = 'float32'
  readonly dims: readonly number[]
  params: LocalParams
  #handle: LocalParamsHandle
  readonly #create: () => LocalParamsHandle
  readonly #merger: SignMerger
  readonly #stateRuns: readonly StateRun[]
  readonly #limit: number
  readonly #who: string
  readonly #rows: Float32Array[]
  readonly #pulled = new PulledRows()
  #scratch = new Float32Array(0)

  readonly #options: KernelStoreOptions
  readonly #thread: number

  constructor(options: KernelStoreOptions, handle?: LocalParamsHandle, thread = 0) {
    const { memoryLimitBytes = Number.POSITIVE_INFINITY, who = 'this server', ...rest } = options
    const { slice: denseSlice, serverThreads: threads = 1, ...created } = rest
    this.#options = options
    this.#thread = thread
    this.#create = () => createLocalParams({ ...created, threads, denseSlice })
    this.#handle = handle ?? this.#create()
    this.params = new LocalParams(this.#handle, thread)
    this.dims = this.params.tables.map(({ dim }) => dim)
    this.#merger = new SignMerger(options.segments)
    this.#stateRuns = stateRuns(options.program, this.params.dense.layout)
    this.#limit = memoryLimitBytes
    this.#who = who
    this.#rows = this.dims.map(() => new Float32Array(0))
  }

  /** In another thread: a hold on the same weights. */
  static attach({ options, handle }: AttachedStore, thread: number): KernelStore {
    return new KernelStore(options, handle, thread)
  }

  /** What another thread needs to serve from it too. */
  get attached(): AttachedStore {
    return { options: this.#options, handle: this.#handle }
  }

  /** The first thread has other memory now. */
  reattach({ handle }: AttachedStore): void {
    this.#handle = handle
    this.params = new LocalParams(handle, this.#thread)
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
    return this.#limit
  }

  /** The optimizer of a table. */
  optimizerOf(table: number): OptimizerSpec {
    return this.#handle.tables[table]!.optimizer
  }

  /** Bytes of all tables. */
  get usedBytes(): number {
    return this.params.tables.reduce((sum, { usedBytes }) => sum + usedBytes, 0)
  }

  pull(signs: SignGroups, insert: boolean, contributor?: number): Float32Array[] {
    if (insert) this.#checkMemory()
    const hand = insert && contributor !== undefined ? this.#pulled.note(contributor, signs.groups) : 0
    const tables = shares(signs, (distinct, t) => ({
      rows: this.#rowsOf(t, distinct.signs.length * this.dims[t]!),
      gradients: NOTHING,
    }))
    const next = this.steps + 1
    for (const { table, distinct, rows } of tables) {
      const factors = stepFactors(this.#handle.tables[table]!.optimizer, next)
      this.params.tables[table]!.lookup(distinct, rows, insert, factors, hand)
    }
    return tables.map(({ rows }) => rows)
  }

  pullDense(): Float32Array {
    return this.params.dense.weights
  }

  push(pushed: Gradients, { later = atOnce, into, contributor }: PushOptions = {}): number {
    const { gradients, dense, shown, samples = 1, ...signs } = pushed
    const tables = shares(signs, (_, t) => ({ rows: NOTHING, gradients: gradients[t] as Float32Array }))
    const step = this.params.dense.nextStep()
    const factors = stepFactors(this.#handle.dense.optimizer, step)
    this.params.dense.push(dense as Float32Array, factors, undefined, into as Float32Array | undefined)
    later(() => {
      const hand = contributor === undefined ? undefined : this.#pulled.find(contributor, signs.groups)
      for (const { table, distinct, gradients: merged } of tables) {
        const { optimizer } = this.#handle.tables[table]!
        const own = this.params.tables[table]!
        if (own.accessor) {
          const counts = counted(shown?.[signs.tableGroups[table]!])
          own.push(distinct, { gradients: merged, shown: counts, samples, step })
          continue
        }
        const factors = stepFactors(optimizer, step)
        if (hand === undefined) own.lookup(distinct, this.#room(distinct.signs.length * own.dim), true, factors)
        own.update(distinct, merged, factors, optimizer.l2, hand)
      }
    })
    return step
  }

  /** One row, weight and state; undefined where there is none. */
  row(table: number, sign: bigint): Uint8Array | undefined {
    return this.params.tables[table]!.row(this.distinctOf(sign))
  }

  /** A sign alone, as a request about it would have it. */
  distinctOf(sign: bigint): DistinctSigns {
    return this.#merger.distinct([BigUint64Array.of(sign)])
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

  load(table: number, { signs, rows }: RowBlock): void {
    this.#checkMemory()
    this.params.tables[table]!.load(signs, rows)
  }

  dense(): DenseState {
    return { bytes: this.params.dense.bytes(), steps: this.steps }
  }

  reset(): void {
    this.reattach({ options: this.#options, handle: this.#create() })
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
    const { groups, gradients, shown } = this.#merger.merge(parts, weights, this.dims)
    const before = unfilled(this.denseSize)
    if (this.#stateRuns.length > 0) this.params.dense.pull(before)
    const dense = mergeDense(
      parts.map((part) => part.dense),
      weights,
      this.#stateRuns,
      before,
      unfilled(this.denseSize),
    )
    return { groups, tableGroups: parts[0]!.tableGroups, gradients, dense, samples: total, ...(shown && { shown }) }
  }

  #checkMemory(): void {
    const used = this.usedBytes
    if (used > this.#limit) throw memoryLimit(this.#who, used, this.#limit)
  }

  #rowsOf(table: number, values: number): Float32Array {
    if (this.#rows[table]!.length < values) this.#rows[table] = new Float32Array(2 * values)
    return this.#rows[table]!.subarray(0, values)
  }

  #room(values: number): Float32Array {
    if (this.#scratch.length < values) this.#scratch = new Float32Array(2 * values)
    return this.#scratch.subarray(0, values)
  }
}

function shares(
  { groups, tableGroups }: SignGroups,
  buffers: (distinct: DistinctSigns, table: number) => Pick<TableShare, 'rows' | 'gradients'>,
): TableShare[] {
  return tableGroups.map((group, table) => ({ table, distinct: groups[group]!, ...buffers(groups[group]!, table) }))
}

/** Room that will be written whole: clearing it first would cost as much as filling it. */
function unfilled(values: number): Float32Array<ArrayBuffer> {
  return new Float32Array(Buffer.allocUnsafeSlow(4 * values).buffer, 0, values)
}
