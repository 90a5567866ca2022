/** @file Parameters in this process: tables and the dense block shared by its threads. */

import { createHash } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { KernelMemory } from '../../base/kernel/index.ts'
import type { Program } from '../../graph/program/index.ts'
import { type OptimizerSpec, type StepFactors, stepFactors } from '../optim/index.ts'
import {
  checkTableNames,
  createTable,
  digestRows,
  type SparseTable,
  type TablesParameters,
  tableAccessor,
} from '../table/index.ts'
import { createDense, DenseBlock, type DenseHandle } from './dense-block.ts'
import type { Slice } from './dense-layout.ts'
import { rowInit } from './init.ts'
import type { BatchParams, Params } from './params.ts'
import { RowStore, type RowTableHandle } from './row-store.ts'
import { createRowRooms, SharedRows } from './shared-rows.ts'

export interface LocalParamsOptions {
  readonly program: Program
  readonly optimizer: OptimizerSpec
  /** Optimizers of single tables, by name; others use `optimizer`. */
  readonly tableOptimizers?: Readonly<Record<string, OptimizerSpec>> | undefined
  /** Accessors and entry policies, by table. @default rows as the optimizers want them */
  readonly tableParameters?: TablesParameters | undefined
  /** Tables hold weights and optimizer state alone, whatever their entry policies say. @default false */
  readonly plainTables?: boolean | undefined
  /** By table: rows remember what servers hold of them (see TableOptions). @default none does */
  readonly copied?: Readonly<Record<string, readonly number[]>> | undefined
  readonly seed: number
  readonly threads: number
  readonly segments?: number | undefined
  /** Holds only these floats of the dense layout: one server's part. @default all */
  readonly denseSlice?: Slice | undefined
  /** Threads push slices of one batch together. @default false */
  readonly together?: boolean | undefined
  /** See LocalParamsHandle. @default 0 */
  readonly inFlight?: number | undefined
}

/** All parameters as plain data plus shared memories: goes to trainer threads by postMessage. */
export interface LocalParamsHandle {
  readonly kind: 'local'
  /** Gradients that other threads are computing while one does: it computes for weights so many steps ahead. @default 0 */
  readonly inFlight?: number | undefined
  readonly dense: DenseHandle
  /** Where threads that push together add up gradients of rows. */
  readonly rowRooms?: readonly KernelMemory[] | undefined
  readonly tables: readonly RowTableHandle[]
  /** Adam's correction of rows counts so many steps more, as Paddle's does for sparse gradients: for comparisons with it. @default 0 */
  readonly rowStepsAhead?: number | undefined
}

export function createLocalParams(options: LocalParamsOptions): LocalParamsHandle {
  const { program, optimizer, seed, threads, segments, denseSlice: slice, plainTables, together } = options
  const { tableOptimizers = {}, tableParameters = {}, copied = {}, inFlight } = options
  checkTableNames(tableParameters, program.tables)
  return {
    kind: 'local',
    inFlight,
    rowRooms: together ? createRowRooms(threads) : undefined,
    dense: createDense({ program, optimizer, seed, threads, together, slice }),
    tables: program.tables.map((table) => {
      const { name, dim, init } = table
      const own = tableOptimizers[name] ?? optimizer
      const parameters = tableParameters[name]
      const accessor = plainTables ? undefined : tableAccessor({ table, optimizer: own, parameters })
      const rows = {
        name,
        dim,
        init: rowInit(init, dim),
        optimizer: own,
        seed,
        accessor,
        precision: plainTables ? undefined : parameters?.row_precision,
        copied: copied[name],
        segments,
      }
      return { ...createTable(rows), optimizer: own }
    }),
  }
}

/** What a pull or a push looks at; the rest of a batch may be absent. */
type Wanted<K extends keyof BatchParams> = Pick<BatchParams, 'tables' | K> & Partial<BatchParams>

/** Local parameters as one thread uses them. Updates are in place, so pull and push return at once. */
export class LocalParams implements Params {
  readonly dense: DenseBlock
  /** Those of the handle's tables, or of a pass's. */
  rows: RowStore
  /** Time spent on dense weights, part of what pull and push take. */
  readonly denseSeconds = { pull: 0, push: 0 }
  readonly handle: LocalParamsHandle
  readonly #shared: SharedRows | undefined

  constructor(handle: LocalParamsHandle, thread: number) {
    this.handle = handle
    this.dense = new DenseBlock(handle.dense, thread)
    this.rows = new RowStore(handle.tables, thread)
    const { rowRooms, tables } = handle
    this.#shared = rowRooms && new SharedRows(rowRooms, thread, tables[0]?.memories.length ?? 1)
  }

  get tables(): readonly SparseTable[] {
    return this.rows.tables
  }

  pull({ tables, weights }: Wanted<'weights'>, insert: boolean): void {
    const step = this.dense.steps + 1
    this.rows.lookup(tables, { insert, step })
    const { dense, inFlight = 0 } = this.handle
    this.#timed('pull', () => {
      // The direction is that of the last step; before the first there is none.
      if (!insert || inFlight === 0 || step === 1) this.dense.pull(weights)
      else this.dense.pullAhead(weights, stepFactors(dense.optimizer, step - 1), inFlight)
    })
  }

  push(batch: Wanted<'gradients'>): number {
    const { tables, gradients, dense, samples = 0, slices } = batch
    if (slices !== undefined) return this.#pushSlice(batch, slices)
    const step = this.dense.nextStep()
    this.rows.apply(tables, { step, seen: step + (this.handle.rowStepsAhead ?? 0), samples })
    const factors = this.#denseFactors(step)
    this.#timed('push', () => this.dense.push(gradients, factors, { only: dense }))
    return step
  }

  /** Slices of one batch are one step: a row that several threads have is updated once, by their sum. */
  #pushSlice({ tables, gradients, samples = 0, batchSamples = samples }: Wanted<'gradients'>, slices: number): number {
    // Counted when all have come.
    const step = this.dense.steps + 1
    this.#shared!.put(tables)
    const pushRows = () => {
      for (const [t, { table }] of tables.entries()) {
        const merged = this.#shared!.take(t, slices, this.tables[table]!.dim)
        this.rows.apply([{ table, ...merged, unseen: true }], { step, samples: batchSamples })
      }
    }
    const factors = this.#denseFactors(step)
    this.#timed('push', () => this.dense.pushTogether(gradients, factors, samples, slices, pushRows))
    return step
  }

  flush(): void {}

  #denseFactors(step: number): StepFactors {
    return stepFactors(this.handle.dense.optimizer, step, step - this.dense.othersSteps)
  }

  #timed(way: 'pull' | 'push', work: () => void): void {
    const started = performance.now()
    work()
    this.denseSeconds[way] += (performance.now() - started) / 1000
  }

  /** SHA-256 over all weights, optimizer state and rows. */
  digest(): string {
    const hash = createHash('sha256').update(this.dense.bytes())
    for (const table of this.tables) digestRows(table.scan(), hash.update(table.name))
    return hash.digest('hex')
  }
}
