/** @file Geo on a server: deltas are added, and every worker is told which rows have changed since it last asked. */
import { type OptimizerSpec, optimizer } from '../optim/index.ts'
import type { SignGroups } from './protocol.ts'
import { SignMerger } from './sign-merger.ts'
import type { Gradients, ParamStore } from './store.ts'

/** weight -= -1 * delta: the optimizer ran on the worker, the server only adds. */
export const ADDING: OptimizerSpec = optimizer.sgd({ learningRate: -1 })

export class GeoChanges {
  readonly #merger: SignMerger
  /** Which group each table uses: the same in every exchange. */
  #tableGroups: readonly number[] = []
  /** By worker: what was changed since its last exchange, by group. */
  readonly #changed: BigUint64Array[][][]
  /** By worker: its last exchange, to give the same answer when it is asked for again. */
  readonly #taken: { readonly sequence: number; readonly signs: SignGroups }[] = []

  constructor(workers: number, segments: number) {
    this.#merger = new SignMerger(segments)
    this.#changed = Array.from({ length: workers }, () => [])
  }

  /** Adds a worker's deltas and notes the rows for all workers, itself included. */
  add(store: ParamStore, deltas: Gradients): void {
    store.push(deltas)
    if (deltas.tableGroups.length > 0) this.#tableGroups = deltas.tableGroups
    for (const changed of this.#changed) {
      for (const [g, { signs }] of deltas.groups.entries()) {
        changed[g] ??= []
        if (signs.length > 0) changed[g].push(signs)
      }
    }
  }

  /** Rows that changed since this worker's last exchange, as they are now, and all dense weights. */
  take(rank: number, sequence: number, store: ParamStore): Gradients {
    const known = this.#taken[rank]
    const signs = known?.sequence === sequence ? known.signs : this.#takeSigns(rank)
    this.#taken[rank] = { sequence, signs }
    return { ...signs, gradients: store.pull(signs, true), dense: store.pullDense() }
  }

  #takeSigns(rank: number): SignGroups {
    const changed = this.#changed[rank]!
    this.#changed[rank] = []
    const groups = changed.map((lists) => this.#merger.distinct(lists))
    return { groups, tableGroups: groups.length > 0 ? this.#tableGroups : [] }
  }
}
