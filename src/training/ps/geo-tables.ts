/** @file Rows of a server as geo exchanges them: weights with the state that workers share. */
import { checkMessage } from '../../base/net/index.ts'
import { stateDecays } from '../../weights/optim/index.ts'
import type { RowTableHandle, SignGroups } from '../../weights/params/index.ts'
import { ExchangedTable } from '../../weights/table/index.ts'
import type { RowShape } from './geo-rules.ts'
import type { ExchangedRows, ParamStore } from './store.ts'

export class GeoTables {
  readonly shapes: readonly RowShape[]
  readonly #handles: readonly RowTableHandle[]
  readonly #thread: number
  /** Made when first needed: in other modes nobody asks. */
  #tables: readonly ExchangedTable[] | undefined

  constructor(handles: readonly RowTableHandle[], thread: number) {
    this.#handles = handles
    this.#thread = thread
    this.shapes = handles.map(({ layout, optimizer }) => ({ dim: layout.dim, decays: stateDecays(optimizer) ?? [] }))
  }

  pull({ groups, tableGroups }: SignGroups): Pick<ExchangedRows, 'gradients' | 'states'> {
    const parts = tableGroups.map((group, t) => this.#table(t).give(groups[group]!))
    return { gradients: parts.map(({ weights }) => weights), states: parts.map(({ states }) => states) }
  }

  add({ groups, tableGroups, ...brought }: Parameters<ParamStore['addRows']>[0]): void {
    for (const [t, group] of tableGroups.entries()) {
      const weights = brought.gradients[t] as Float32Array
      const states = brought.states[t] as Float32Array
      const touches = (brought.touches[group] ?? new Float32Array(0)) as Float32Array
      const isCounted = touches.length === groups[group]!.signs.length && touches.every((count) => count >= 0)
      checkMessage(isCounted || states.length === 0, 'state of rows without how often they were trained')
      this.#table(t).add(groups[group]!, { weights, states, touches })
    }
  }

  #table(table: number): ExchangedTable {
    this.#tables ??= this.#handles.map((handle, t) => new ExchangedTable(handle, this.#thread, this.shapes[t]!.decays))
    return this.#tables[table]!
  }
}
