/** @file One slot group's tables in a round: their signs, rows and gradients between ranks. Every rank has all rows of small tables, of large ones its own. */
import type { BatchRows, Values } from '../../../weights/params/index.ts'
import { asSigned, asSigns, type Ranks } from './ranks.ts'
import type { Round } from './round.ts'
import type { OpenUnion, SignUnion } from './sign-union.ts'

export interface TableExchangeOptions<V extends Values> {
  readonly ranks: Ranks
  readonly group: number
  /** Its tables, by their numbers in the program. */
  readonly tables: readonly number[]
  readonly dims: readonly number[]
  readonly sharded: boolean
  readonly open: OpenUnion<V>
}

/** What a table of this process is asked for, and has to apply. */
type Asked<V extends Values> = BatchRows<V>

/** A round's tables: first signs go out, then rows come, then gradients go. */
export class TableExchange<V extends Values> {
  readonly tables: readonly number[]
  readonly sharded: boolean
  readonly group: number
  readonly #ranks: Ranks
  readonly #dims: readonly number[]
  readonly #union: SignUnion<V>
  #asked: readonly Asked<V>[] = []

  constructor({ ranks, group, tables, dims, sharded, open }: TableExchangeOptions<V>) {
    this.tables = tables
    this.sharded = sharded
    this.group = group
    this.#ranks = ranks
    this.#dims = dims
    this.#union = open(dims)
  }

  /** The signs that the tables of this process look up: those of all ranks, or of all ranks those that are its own. */
  async ask(signs: BigUint64Array, round: Round): Promise<readonly Asked<V>[]> {
    const { begin } = this.#ranks
    const own = asSigned(signs)
    const finish = this.sharded
      ? begin.allToAll(own, round.sent(this.group), round.coming(this.group))
      : begin.allGather(own, round.signsOf(this.group))
    return this.#wanted(asSigns((await finish()).values))
  }

  /** The signs of this rank alone: looking at tables that are all here is nobody else's business. */
  askAlone(signs: BigUint64Array): readonly Asked<V>[] {
    return this.#wanted(signs)
  }

  /** Rows of this rank's signs, out of what the tables gave. */
  async rows(shares: readonly BatchRows<V>[], round: Round): Promise<void> {
    const { begin, rank } = this.#ranks
    for (const [i, { rows }] of shares.entries()) {
      if (!this.sharded) {
        const counts = round.signsOf(this.group)
        rows.set(this.#union.spread(i, sum(counts.slice(0, rank)), counts[rank]!))
        continue
      }
      const times = (counts: readonly number[]) => counts.map((count) => count * this.#dims[i]!)
      const coming = round.coming(this.group)
      const answers = this.#union.spread(i, 0, sum(coming))
      const finish = begin.allToAll(answers, times(coming), times(round.sent(this.group)))
      rows.set((await finish()).values)
    }
  }

  rowsAlone(shares: readonly BatchRows<V>[]): void {
    for (const [i, { rows }] of shares.entries()) rows.set(this.#union.spread(i, 0, rows.length / this.#dims[i]!))
  }

  /** Gradients of all ranks, merged by sign in the order of ranks: what the tables of this process apply. Scales what it is given. */
  async gradients(shares: readonly BatchRows<V>[], round: Round): Promise<readonly Asked<V>[]> {
    const merged: Asked<V>[] = []
    for (const [i, { gradients, showClick }] of shares.entries()) {
      const { weight } = round
      if (weight !== 1) for (let k = 0; k < gradients.length; k++) gradients[k]! *= weight
      const all = await this.#collect(gradients, this.#dims[i]!, round)
      const own = { ...this.#asked[i]!, gradients: this.#union.add(i, all) }
      merged.push(
        showClick ? { ...own, showClick: this.#union.addShowClick(await this.#collect(showClick, 3, round)) } : own,
      )
    }
    return merged
  }

  async #collect<T extends Values>(values: T, width: number, round: Round): Promise<T> {
    const { begin } = this.#ranks
    const times = (counts: readonly number[]) => counts.map((count) => count * width)
    const finish = this.sharded
      ? begin.allToAll(values, times(round.sent(this.group)), times(round.coming(this.group)))
      : begin.allGather(values, times(round.signsOf(this.group)))
    return (await finish()).values
  }

  #wanted(signs: BigUint64Array): readonly Asked<V>[] {
    const distinct = this.#union.distinct(signs)
    this.#asked = this.tables.map((table, i) => {
      const values = this.#union.values(i)
      return { table, distinct, rows: values, gradients: values }
    })
    return this.#asked
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
