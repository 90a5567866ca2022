/** @file Local parameters that remember which signs were trained since they were last asked. */
import type { BatchParams, Params } from '../../weights/params/index.ts'

/** Signs touched, with repetitions, by the tables that share them. */
export type Touched = readonly { readonly tables: readonly number[]; readonly signs: BigUint64Array[] }[]

export class TouchedParams implements Params {
  readonly #inner: Params
  #touched: { tables: number[]; signs: BigUint64Array[] }[] = []

  constructor(inner: Params) {
    this.#inner = inner
  }

  pull(share: BatchParams, insert: boolean): void | Promise<void> {
    return this.#inner.pull(share, insert)
  }

  push(share: BatchParams): number | Promise<number> {
    const groups = new Map<unknown, { tables: number[]; signs: BigUint64Array }>()
    for (const { table, distinct } of share.tables) {
      const group = groups.get(distinct) ?? { tables: [], signs: distinct.signs }
      group.tables.push(table)
      groups.set(distinct, group)
    }
    for (const [g, { tables, signs }] of [...groups.values()].entries()) {
      this.#touched[g] ??= { tables, signs: [] }
      this.#touched[g].signs.push(signs.slice())
    }
    return this.#inner.push(share)
  }

  /** What was touched; starts anew. */
  take(): Touched {
    const touched = this.#touched
    this.#touched = touched.map(({ tables }) => ({ tables, signs: [] }))
    return touched
  }

  flush(): void | Promise<void> {
    return this.#inner.flush()
  }
}
