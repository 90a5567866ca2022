/** @file All tables as they were published last, and what has changed in them since. */
import { leadingColumns } from '../../base/kernel/index.ts'
import {
  type Projection,
  PublishedRows,
  projection,
  type RowForm,
  takeChanges,
} from '../../inference/versions/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import type { WholeModel } from '../driver/index.ts'

type Changes = Awaited<ReturnType<typeof takeChanges>> & {
  readonly name: string
  readonly form: RowForm
  readonly digest: string
}

export class PublishedTables {
  readonly rows: readonly PublishedRows[]
  readonly #form: RowForm
  readonly #names: readonly string[]
  readonly #projections: readonly Projection[]
  readonly #leading: readonly number[]
  /** Signs that changed since the last version that was published. */
  #owed: readonly Set<bigint>[]
  #taken: readonly Changes[] = []
  /** Rows by table that the delta before had. */
  #counts: readonly number[] = []
  /** The tables know what changed since it was published. */
  #isFollowed = false

  /** `rows`: what is published already. @default nothing */
  constructor({ tables }: LocalParams, form: RowForm, rows?: readonly PublishedRows[]) {
    this.rows = rows ?? tables.map(({ dim }) => new PublishedRows(dim))
    this.#form = form
    this.#names = tables.map(({ name }) => name)
    this.#projections = tables.map(({ dim, rowBytes, precision, accessor }) =>
      projection({ dim, rowBytes, precision, accessor }),
    )
    this.#leading = tables.map(({ accessor }) => (accessor ? leadingColumns(accessor) : 0))
    this.#owed = tables.map(() => new Set())
  }

  /** What has changed; `isWhole`: all rows are looked at, also for those that went. No thread may train meanwhile. */
  async changes(whole: WholeModel, isWhole: boolean): Promise<readonly Changes[]> {
    const { params, readRows } = whole
    const lost = whole.lostRows ? await whole.lostRows() : params.tables.some((table) => table.isChangedWholly)
    // Of the rows that a job begins with it is not known which changed since they were published.
    const all = isWhole || lost || !this.#isFollowed
    const found: Changes[] = []
    for (const [t, published] of this.rows.entries()) {
      const table = params.tables[t]!
      const blocks = readRows?.(t, !all) ?? (all ? table.scan() : table.changed())
      const row = { project: this.#projections[t]!, leading: this.#leading[t]!, form: this.#form }
      const options = { published, ...row, blocks, isWhole: all, expected: all ? 0 : this.#counts[t] }
      const changes = await takeChanges({ ...options, owed: this.#owed[t] })
      found.push({ ...changes, name: this.#names[t]!, form: this.#form, digest: published.digest })
    }
    if (whole.forgetChanges) await whole.forgetChanges()
    else for (const table of params.tables) table.forgetChanges()
    this.#isFollowed = true
    this.#taken = found
    this.#counts = all ? [] : found.map(({ signs }) => signs.length)
    return found
  }

  /** What was taken last is published. */
  settle(): void {
    this.#owed = this.rows.map(() => new Set())
    this.#taken = []
  }

  /** What was taken last could not be published: the next time it counts as changed. */
  owe(): void {
    for (const [t, { signs, gone }] of this.#taken.entries())
      for (const sign of [...signs, ...gone]) this.#owed[t]!.add(sign)
    // The tables have forgotten them: all rows are looked at.
    if (this.#taken.length > 0) this.#isFollowed = false
    this.#taken = []
  }
}
