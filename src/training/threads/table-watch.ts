/** @file Says every few seconds how large the tables of this process are, by level; counting takes microseconds. */
import type { EventSink, TableSize } from '../../base/event/index.ts'
import { type LocalParamsHandle, RowStore } from '../../weights/params/index.ts'
import { tableSizes } from '../../weights/table/index.ts'
import type { TrainerThreadSettings } from './messages.ts'

const EVERY_MS = 2000

/** Of tables with a memory limit, which only the thread that keeps them can count. */
export interface TierSizes {
  readonly sizes: Readonly<Record<string, TableSize>>
}

/** The tables that lie in this process: of servers' there are none here. */
function tablesIn(params: TrainerThreadSettings['params']): LocalParamsHandle | undefined {
  if (params.kind === 'local') return params
  if (params.kind === 'parallel' || params.kind === 'geo') return params.local
  return params.kind === 'pass' ? params.host : undefined
}

export class TableWatch {
  readonly #rows: RowStore
  readonly #tiers: TierSizes | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  /** Undefined where this process has no tables. */
  static of(params: TrainerThreadSettings['params'], tiers?: TierSizes): TableWatch | undefined {
    const handle = tablesIn(params)
    return handle && handle.tables.length > 0 ? new TableWatch(handle, tiers) : undefined
  }

  private constructor({ tables }: LocalParamsHandle, tiers: TierSizes | undefined) {
    this.#rows = new RowStore(tables, 0)
    this.#tiers = tiers
  }

  look(emit: EventSink): void {
    const now = performance.now()
    if (now - this.#lookedAt < EVERY_MS) return
    this.#lookedAt = now
    const known = this.#tiers?.sizes ?? {}
    const tables = tableSizes(this.#rows.tables).map((own) => known[own.table] ?? own)
    emit({ kind: 'tables', tables })
  }
}
