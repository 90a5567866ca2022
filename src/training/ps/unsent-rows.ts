/** @file Rows that a geo worker has trained since it brought them in: those that are trained again and again go sooner. */
import { setImmediate } from 'node:timers/promises'
import { type ExchangedTable, SignMerger } from '../../weights/table/index.ts'
import { GEO_SIGNS, SignList } from './geo-changes.ts'

/** Of the tables that share signs; one of them, whose rows know how often they were trained since they were sent, speaks for all. */
export class UnsentRows {
  readonly #table: ExchangedTable
  readonly #merger: SignMerger
  /** Every sign that was trained and not taken, and others. */
  readonly #signs: SignList

  constructor(table: ExchangedTable, segments: number) {
    this.#table = table
    this.#merger = new SignMerger(segments)
    this.#signs = new SignList(this.#merger)
  }

  /** Signs that further batches have trained; takes those trained `least` times or more. */
  takeOften(batches: readonly BigUint64Array[], least: number): BigUint64Array {
    const distinct = this.#merger.distinct(batches)
    const flags = this.#table.pick(distinct, least)
    this.#signs.add(signsWhere(distinct.signs, flags, 0))
    return signsWhere(distinct.signs, flags, 1)
  }

  /** The same of all that were trained. A million of them take seconds: the process does other things in between. */
  async takeAll(batches: readonly BigUint64Array[]): Promise<BigUint64Array> {
    for (const signs of batches) this.#signs.add(signs)
    const parts: Uint8Array[] = []
    while (!this.#signs.isEmpty) {
      const { signs, lengths } = this.#merger.distinct(this.#signs.take(GEO_SIGNS))
      // A sign that was in an earlier part is taken by now.
      const taken = signsWhere(signs, this.#table.pick({ signs, lengths }, 1), 1)
      parts.push(new Uint8Array(taken.buffer, taken.byteOffset, taken.byteLength))
      await setImmediate()
    }
    return new BigUint64Array(new Uint8Array(Buffer.concat(parts)).buffer)
  }
}

/** Word by word: a million signs as BigInts, which `filter` makes of them, stop a worker for seconds. */
function signsWhere(signs: BigUint64Array, flags: Uint8Array, wanted: 0 | 1): BigUint64Array {
  const words = new Uint32Array(signs.buffer, signs.byteOffset, 2 * signs.length)
  const found = new Uint32Array(words.length)
  let count = 0
  for (let i = 0; i < signs.length; i++) {
    if (flags[i] !== wanted) continue
    found[count++] = words[2 * i]!
    found[count++] = words[2 * i + 1]!
  }
  return new BigUint64Array(found.buffer, 0, count / 2)
}
