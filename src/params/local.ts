/** @file Parameters in this process: tables and the dense block shared by its threads. */
import { createHash } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { type OptimizerSpec, type StepFactors, stepFactors } from '../optim/index.ts'
import type { Program } from '../program/index.ts'
import {
  checkTableNames,
  createTable,
  digestTable,
  SparseTable,
  type TableHandle,
  type TablesParameters,
  tableAccessor,
} from '../table/index.ts'
import { createDense, DenseBlock, type DenseHandle } from './dense-block.ts'
import { rowInit } from './init.ts'
import type { Params, ParamsShare, TableShare } from './params.ts'
import { createRowRooms, SharedRows } from './shared-rows.ts'

export interface LocalParamsOptions {
  readonly program: Program
  readonly optimizer: OptimizerSpec
  /** Optimizers of single tables, by name; others use `optimizer`. */
  readonly tableOptimizers?: Readonly<Record<string, OptimizerSpec>>
  /** Accessors and entry policies, by table. @default rows as the optimizers want them */
  readonly tableParameters?: TablesParameters
  /** Tables hold weights and optimizer state alone, whatever their entry policies say. @default false */
  readonly plainTables?: boolean
  readonly seed: number
  readonly threads: number
  readonly segments?: number
  /** Holds only these floats of the dense layout: one server's part. @default all */
  readonly denseSlice?: { readonly from: number; readonly to: number }
  /** Threads push slices of one batch together. @default false */
  readonly together?: boolean
  /** See LocalParamsHandle. @default 0 */
  readonly inFlight?: number
  /** See LocalParamsHandle. @default 1 */
  readonly denseRate?: number
}

/** All parameters as plain data plus shared memories: goes to trainer threads by postMessage. */
export interface LocalParamsHandle {
  /** Gradients that other threads are computing while one does: it computes for weights so many steps ahead. @default 0 */
  readonly inFlight?: number
  /** Factor on the learning rate of dense weights, where the mean over several copies counts. @default 1 */
  readonly denseRate?: number
  readonly dense: DenseHandle
  /** Where threads that push together add up gradients of rows. */
  readonly rowRooms?: readonly WebAssembly.Memory[]
  readonly tables: readonly (TableHandle & { readonly optimizer: OptimizerSpec })[]
}

export function createLocalParams({
  program,
  optimizer,
  tableOptimizers = {},
  tableParameters = {},
  plainTables = false,
  seed,
  threads,
  segments,
  denseSlice,
  together = false,
  inFlight = 0,
  denseRate = 1,
}: LocalParamsOptions): LocalParamsHandle {
  checkTableNames(tableParameters, program.tables)
  return {
    ...{ inFlight, denseRate },
    ...(together && { rowRooms: createRowRooms(threads) }),
    dense: createDense({ program, optimizer, seed, threads, together, ...(denseSlice && { slice: denseSlice }) }),
    tables: program.tables.map((table) => {
      const { name, dim, init } = table
      const own = tableOptimizers[name] ?? optimizer
      const parameters = tableParameters[name]
      const options = {
        name,
        dim,
        init: rowInit(init, dim),
        optimizer: own,
        seed,
        accessor: plainTables ? undefined : tableAccessor({ table, optimizer: own, parameters }),
        ...(segments !== undefined && { segments }),
      }
      return { ...createTable(options), optimizer: own }
    }),
  }
}

/** What a pull or a push looks at; the rest of a share may be absent. */
type Wanted<K extends keyof ParamsShare> = Pick<ParamsShare, 'tables' | K> & Partial<ParamsShare>

/** One thread's hold on local parameters. Updates are in place, so pull and push return at once. */
export class LocalParams implements Params {
  readonly dense: DenseBlock
  readonly tables: readonly SparseTable[]
  /** Time spent on dense weights, part of what pull and push take. */
  readonly denseSeconds = { pull: 0, push: 0 }
  readonly handle: LocalParamsHandle
  readonly #rows: SharedRows | undefined

  constructor(handle: LocalParamsHandle, thread: number) {
    this.handle = handle
    this.dense = new DenseBlock(handle.dense, thread)
    this.tables = handle.tables.map((table) => new SparseTable(table, thread))
    const { rowRooms, tables } = handle
    this.#rows = rowRooms && new SharedRows(rowRooms, thread, tables[0]?.memories.length ?? 1)
  }

  pull({ tables, weights }: Wanted<'weights'>, insert: boolean): void {
    const next = this.dense.steps + 1
    for (const { table, distinct, rows } of tables) {
      this.tables[table]!.lookup(distinct, rows, insert, stepFactors(this.handle.tables[table]!.optimizer, next))
    }
    const { dense, inFlight = 0 } = this.handle
    this.#timed('pull', () => {
      // The direction is that of the last step; before the first there is none.
      if (!insert || inFlight === 0 || next === 1) this.dense.pull(weights)
      else this.dense.pullAhead(weights, stepFactors(dense.optimizer, next - 1), inFlight)
    })
  }

  push(share: Wanted<'gradients'>): number {
    const { tables, gradients, dense, samples = 0, slices } = share
    if (slices !== undefined) return this.#pushSlice(share, slices)
    const step = this.dense.nextStep()
    for (const rows of tables) this.#pushRows(rows, step, samples)
    const factors = this.#denseFactors(step)
    this.#timed('push', () => this.dense.push(gradients, factors, dense))
    return step
  }

  /** Slices of one batch are one step: a row that several threads have is updated once, by their sum. */
  #pushSlice({ tables, gradients, samples = 0, batchSamples = samples }: Wanted<'gradients'>, slices: number): number {
    // Counted when all have come.
    const step = this.dense.steps + 1
    this.#rows!.put(tables)
    const pushRows = () => {
      for (const [t, { table, rows }] of tables.entries()) {
        const merged = this.#rows!.take(t, slices, this.tables[table]!.dim)
        this.#pushRows({ table, rows, ...merged, unseen: true }, step, batchSamples)
      }
    }
    const factors = this.#denseFactors(step)
    this.#timed('push', () => this.dense.pushTogether(gradients, factors, samples, slices, pushRows))
    return step
  }

  #pushRows({ table, distinct, gradients, shown, unseen }: TableShare, step: number, samples: number): void {
    const { optimizer } = this.handle.tables[table]!
    const own = this.tables[table]!
    if (own.accessor) {
      own.push(distinct, { gradients, shown: counted(shown), samples, step })
      return
    }
    const factors = stepFactors(optimizer, step)
    if (unseen) own.lookup(distinct, undefined, true, factors)
    own.update(distinct, gradients, factors, optimizer.l2)
  }

  flush(): void {}

  close(): void {}

  #denseFactors(step: number): StepFactors {
    const { dense, denseRate = 1 } = this.handle
    const factors = stepFactors(dense.optimizer, step, step - this.dense.othersSteps)
    return { ...factors, rate: factors.rate * denseRate }
  }

  #timed(way: 'pull' | 'push', work: () => void): void {
    const started = performance.now()
    work()
    this.denseSeconds[way] += (performance.now() - started) / 1000
  }

  /** SHA-256 over all weights, optimizer state and rows. */
  digest(): string {
    const hash = createHash('sha256').update(this.dense.bytes())
    for (const table of this.tables) digestTable(table, hash.update(table.name))
    return hash.digest('hex')
  }
}

/** An accessor's rows cannot be pushed without show and click. */
export function counted(shown: Float32Array | undefined): Float32Array {
  if (!shown) throw new Error('internal: a push to an accessor without show and click')
  return shown
}
