/** @file Rows of this process's tables: how a trainer, a server and a rank look them up and apply gradients to them. */
import { type OptimizerSpec, stepFactors } from '../optim/index.ts'
import { type DistinctSigns, SignMerger, SparseTable, type TableHandle } from '../table/index.ts'
import type { BatchRows, Values } from './params.ts'

/** A table as plain data plus its shared memories, and the rule that its gradients are applied by. */
export interface RowTableHandle extends TableHandle {
  readonly optimizer: OptimizerSpec
}

/** Signs of several tables: groups of distinct signs, and for each table which group it uses. */
export interface SignGroups {
  readonly groups: readonly DistinctSigns[]
  readonly tableGroups: readonly number[]
}

/** Gradients of rows, merged by distinct sign. */
export interface RowGradients extends SignGroups {
  /** By table, [signs, dim]. */
  readonly gradients: readonly Values[]
  /** By group, [signs, 3]: slot, show and click, where tables have accessors. */
  readonly showClick?: readonly Float32Array[] | undefined
}

export interface LookupOptions {
  /** Rows that are missing are created. */
  readonly insert: boolean
  /** The optimizer step that the rows are looked up for. */
  readonly step: number
  /** Where the tables keep the addresses they find (see SparseTable). @default 0 */
  readonly addressList?: number | undefined
}

export interface ApplyOptions {
  /** The optimizer step that is made, counted from 1. */
  readonly step: number
  /** The steps that Adam's correction counts. @default step */
  readonly seen?: number | undefined
  /** How many samples the gradients are the mean of. */
  readonly samples: number
  /** Where the lookup kept the addresses. @default 0 */
  readonly addressList?: number | undefined
}

/** The tables as one thread uses them. */
export class RowStore {
  readonly tables: readonly SparseTable[]
  readonly merger: SignMerger
  readonly #optimizers: readonly OptimizerSpec[]

  constructor(handles: readonly RowTableHandle[], thread: number) {
    this.tables = handles.map((handle) => new SparseTable(handle, thread))
    this.merger = new SignMerger(handles[0]?.memories.length ?? 1)
    this.#optimizers = handles.map(({ optimizer }) => optimizer)
  }

  /** The optimizer of a table. */
  optimizerOf(table: number): OptimizerSpec {
    return this.#optimizers[table]!
  }

  /** Copies the weights of every table's signs to its `rows`. */
  lookup(
    tables: readonly Pick<BatchRows, 'table' | 'distinct' | 'rows'>[],
    { insert, step, addressList }: LookupOptions,
  ): void {
    for (const { table, distinct, rows } of tables) {
      const factors = stepFactors(this.#optimizers[table]!, step)
      this.tables[table]!.lookup(distinct, rows, insert, factors, addressList)
    }
  }

  /** Applies the gradients of every table's signs, and counts show and click where it has an accessor. */
  apply(tables: readonly Omit<BatchRows, 'rows'>[], options: ApplyOptions): void {
    for (const rows of tables) this.#applyTo(rows, options)
  }

  #applyTo(
    { table, distinct, gradients, showClick, unseen = false }: Omit<BatchRows, 'rows'>,
    { step, seen, samples, addressList }: ApplyOptions,
  ): void {
    const own = this.tables[table]!
    // Of several threads or servers one may have nothing of a batch, show and click included.
    if (distinct.signs.length === 0) return
    if (own.accessor) {
      if (!showClick) throw new Error('internal: a push to an accessor without show and click')
      own.push(distinct, { gradients, showClick, samples, step })
      return
    }
    const optimizer = this.#optimizers[table]!
    const factors = stepFactors(optimizer, step, seen)
    if (unseen) own.lookup(distinct, undefined, true, factors, addressList)
    own.update(distinct, gradients, factors, optimizer.l2, addressList)
  }

  /** Several contributions as one: a sign that several have appears once, its gradients summed by weight in the order given. */
  merge(parts: readonly RowGradients[], weights: readonly number[]): RowGradients {
    const { tableGroups, groups: first, showClick: counted } = parts[0]!
    const gradients: Float32Array[] = []
    const showClick: Float32Array[] = []
    const groups = first.map((_, g) => {
      const tables = tableGroups.flatMap((group, t) => (group === g ? [t] : []))
      const widest = Math.max(3, ...tables.map((t) => this.tables[t]!.dim))
      const signs = parts.map((part) => part.groups[g]!.signs)
      const distinct = this.merger.distinct(signs, widest)
      if (counted) showClick.push(this.merger.addShowClick(parts.map((part) => part.showClick![g]!)))
      for (const t of tables) {
        const each = parts.map((part) => part.gradients[t] as Float32Array)
        gradients[t] = this.merger.add(each, this.tables[t]!.dim, weights)
      }
      return distinct
    })
    return { groups, tableGroups, gradients, showClick: counted && showClick }
  }
}
