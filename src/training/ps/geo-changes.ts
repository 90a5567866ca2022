/** @file Geo on a server: deltas are added, and every worker gets the rows that have changed since it last asked. */
import { type OptimizerSpec, optimizer } from '../../weights/optim/index.ts'
import type { SignGroups } from '../../weights/params/index.ts'
import { SignMerger } from '../../weights/table/index.ts'
import type { GeoMessage } from './geo-protocol.ts'
import type { ParamStore } from './store.ts'

/** weight -= -1 * delta: the optimizer ran on the worker, the server only adds. */
export const ADDING: OptimizerSpec = optimizer.sgd({ learningRate: -1 })

/** Signs of a group in one message: few enough that nobody is silent for long while they are looked up. */
export const GEO_SIGNS = 2 ** 17

export class GeoChanges {
  readonly #merger: SignMerger
  /** Which group each table uses: the same in every exchange. */
  #tableGroups: readonly number[] = []
  /** By worker: what was changed since its last exchange, by group. */
  readonly #changed: SignList[][]
  /** By worker: its last exchange, to give the same answer when it is asked for again. */
  readonly #taken: { readonly sequence: number; readonly signs: SignGroups; readonly isMore: boolean }[] = []
  /** Optimizer steps of all workers, with those of a model that was loaded; undefined before the first exchange. */
  #steps: number | undefined

  constructor(workers: number, segments: number) {
    this.#merger = new SignMerger(segments)
    this.#changed = Array.from({ length: workers }, () => [])
  }

  /** Adds a worker's deltas and notes the rows for all others: it knows what its own make of rows that it knew. */
  add(rank: number, store: ParamStore, deltas: GeoMessage): void {
    const isShare = deltas.dense.length > 0
    // Every worker exchanges before its first batch: so far the store has the steps of the loaded model. Of shares it counts exchanges.
    this.#steps ??= isShare ? 0 : store.steps
    this.#steps += deltas.steps
    // Where the servers train the dense weights, their gradients come by themselves, and are the steps that the store counts.
    if (isShare) store.push(deltas)
    else store.addRows(deltas)
    if (deltas.tableGroups.length > 0) this.#tableGroups = deltas.tableGroups
    for (const [other, changed] of this.#changed.entries()) {
      if (other === rank) continue
      for (const [g, { signs }] of deltas.groups.entries()) {
        changed[g] ??= new SignList(this.#merger)
        changed[g].add(signs)
      }
    }
  }

  /** Rows that changed since this worker's last exchange, as they are now, and all dense weights where they are exchanged too. */
  take(rank: number, { sequence, dense }: Pick<GeoMessage, 'sequence' | 'dense'>, store: ParamStore): GeoMessage {
    const known = this.#taken[rank]
    const { signs, isMore } = known?.sequence === sequence ? known : this.#takeSigns(rank)
    this.#taken[rank] = { sequence, signs, isMore }
    const values = { ...store.pullRows(signs), dense: dense.length > 0 ? store.pullDense() : dense }
    return { ...signs, ...values, touches: [], sequence, isMore, steps: this.#steps ?? store.steps }
  }

  #takeSigns(rank: number) {
    const changed = this.#changed[rank]!
    const groups = changed.map((list) => this.#merger.distinct(list.take(GEO_SIGNS)))
    const signs: SignGroups = { groups, tableGroups: groups.length > 0 ? this.#tableGroups : [] }
    return { signs, isMore: changed.some(({ isEmpty }) => !isEmpty) }
  }
}

/** Repetitions are worth removing from so many signs on. */
const MANY = 2 ** 20

/** Signs that were named again and again, to be taken some at a time; takes room for few more than there are. */
export class SignList {
  readonly #merger: SignMerger
  #lists: BigUint64Array[] = []
  #count = 0
  /** Beyond so many it is looked for repetitions. */
  #limit = MANY

  constructor(merger: SignMerger) {
    this.#merger = merger
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Keeps `signs` itself. */
  add(signs: BigUint64Array): void {
    if (signs.length === 0) return
    this.#lists.push(signs)
    this.#count += signs.length
    if (this.#count <= this.#limit) return
    this.#lists = [this.#merger.distinct(this.#lists).signs]
    this.#count = this.#lists[0]!.length
    this.#limit = 2 * this.#count + MANY
  }

  /** At most so many, the oldest first; they are no longer in the list. */
  take(most: number): readonly BigUint64Array[] {
    const taken: BigUint64Array[] = []
    for (let left = Math.min(most, this.#count); left > 0; ) {
      const first = this.#lists[0]!
      const part = first.subarray(0, left)
      if (part.length === first.length) this.#lists.shift()
      else this.#lists[0] = first.subarray(part.length)
      taken.push(part)
      left -= part.length
      this.#count -= part.length
    }
    return taken
  }
}
