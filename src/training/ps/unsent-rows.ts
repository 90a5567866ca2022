/** @file Rows that a geo worker has trained since it brought them in, and how often: those that are trained again and again go sooner. */
import { setImmediate } from 'node:timers/promises'
import { createTable, type DistinctSigns, SignMerger, SparseTable } from '../../weights/table/index.ts'
import { ADD, ADDING, GEO_SIGNS, SignList } from './geo-changes.ts'

/** Of the tables that share signs. */
export class UnsentRows {
  readonly #merger: SignMerger
  /** By sign: batches that trained it since it was taken. */
  readonly #counts: SparseTable
  /** Every sign that was trained and not taken. */
  readonly #signs: SignList

  constructor(segments: number) {
    this.#merger = new SignMerger(segments)
    this.#signs = new SignList(this.#merger)
    const init = { kind: 'constant', value: 0 } as const
    this.#counts = new SparseTable(
      createTable({ name: 'unsent', dim: 1, init, optimizer: ADDING, seed: 0, segments }),
      0,
    )
  }

  /** Signs that further batches have trained, each batch with its own; takes those trained `least` times or more. */
  takeOften(batches: readonly BigUint64Array[], least: number): BigUint64Array {
    const { counts, ...distinct } = this.#merger.counted(batches)
    const before = this.#lookup(distinct)
    const isTaken = (i: number) => before[i]! + counts[i]! >= least
    this.#add(
      distinct,
      counts.map((count, i) => (isTaken(i) ? -before[i]! : count)),
    )
    this.#signs.add(signsWhere(distinct.signs, (i) => !isTaken(i)))
    return signsWhere(distinct.signs, isTaken)
  }

  /** The same of all that were trained. A million of them take seconds: the process does other things in between. */
  async takeAll(batches: readonly BigUint64Array[]): Promise<BigUint64Array> {
    this.takeOften(batches, Number.POSITIVE_INFINITY)
    const parts: Uint8Array[] = []
    while (!this.#signs.isEmpty) {
      const distinct = this.#merger.distinct(this.#signs.take(GEO_SIGNS))
      const counts = this.#lookup(distinct)
      // Of a sign that was in an earlier part nothing is left.
      this.#add(
        distinct,
        counts.map((count) => -count),
      )
      parts.push(new Uint8Array(signsWhere(distinct.signs, (i) => counts[i]! > 0).buffer))
      await setImmediate()
    }
    return new BigUint64Array(new Uint8Array(Buffer.concat(parts)).buffer)
  }

  #lookup(distinct: DistinctSigns): Float32Array {
    const counts = new Float32Array(distinct.signs.length)
    this.#counts.lookup(distinct, counts, true)
    return counts
  }

  /** To the signs last looked up. */
  #add(distinct: DistinctSigns, change: Float32Array): void {
    this.#counts.update(distinct, change, ADD)
  }
}

/** Word by word: a million signs as BigInts, which `filter` makes of them, stop a worker for seconds. */
function signsWhere(signs: BigUint64Array, isWanted: (i: number) => boolean): BigUint64Array {
  const words = new Uint32Array(signs.buffer, signs.byteOffset, 2 * signs.length)
  const found = new Uint32Array(words.length)
  let count = 0
  for (let i = 0; i < signs.length; i++) {
    if (!isWanted(i)) continue
    found[count++] = words[2 * i]!
    found[count++] = words[2 * i + 1]!
  }
  return new BigUint64Array(found.buffer.slice(0, 4 * count))
}
