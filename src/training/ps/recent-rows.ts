/** @file Rows that a thread has pulled in its last batches: their weights as they came, and the gradients that have come since. */
import type { DistinctSigns } from '../../weights/table/index.ts'
import { COUNT_AT } from './repeated-rows.ts'
import { SignPlaces } from './sign-places.ts'

/** Of a batch's distinct signs those that are asked for, and those that are here. */
export interface Parted {
  readonly distinct: DistinctSigns
  /** By sign that is asked for: where it is in the batch, and where its row is to be kept, or -1. */
  readonly asked: Int32Array
  readonly keptAt: Int32Array
  /** By sign that is here: where it is in the batch, and which it is; its place among the signs' groups. */
  readonly here: Int32Array
  readonly words: Uint32Array
  readonly buckets: Int32Array
  /** Rows were forgotten since, if it is another one by now. */
  readonly turn: number
}

/** Gradients to be sent, grouped as a batch's are. */
export interface Summed {
  readonly distinct: DistinctSigns
  /** By table. */
  readonly gradients: readonly Float32Array[]
  /** Three numbers a sign, as pushes have beside gradients: COUNT_AT says of how many batches they are. */
  readonly counts: Float32Array
}

const NOBODY = -1

/** Of tables that look up the same signs. */
export class RecentRows {
  readonly #dims: readonly number[]
  readonly #most: number
  readonly #places: SignPlaces
  /** By table, by number of the sign. */
  readonly #weights: readonly Float32Array[]
  readonly #sums: readonly Float32Array[]
  /** By number of the sign: its row has come; of how many batches it has gradients; where signs of its server and segment stand. */
  readonly #isHere: Uint8Array
  readonly #summed: Uint16Array
  readonly #buckets: Int32Array
  /** By hash, signs that came since rows were forgotten last, and in the turn before: a row that comes once takes no place. */
  #seen: Uint8Array
  #seenBefore: Uint8Array
  #turn = 0

  /** Rows of `most` signs are kept. Beside them there is room for the gradients of a batch that was parted before rows were forgotten. */
  constructor(dims: readonly number[], most: number) {
    this.#dims = dims
    this.#most = most
    const room = 3 * most
    this.#places = new SignPlaces(room)
    this.#weights = dims.map((dim) => new Float32Array(room * dim))
    this.#sums = dims.map((dim) => new Float32Array(room * dim))
    this.#isHere = new Uint8Array(room)
    this.#summed = new Uint16Array(room)
    this.#buckets = new Int32Array(room)
    const hashes = 2 ** Math.ceil(Math.log2(16 * most))
    this.#seen = new Uint8Array(hashes)
    this.#seenBefore = new Uint8Array(hashes)
  }

  /** Parts a batch; rows that are here go to `rows` at once, of each table [signs, dim]. */
  part({ signs, lengths }: DistinctSigns, rows: readonly Float32Array[]): Parted {
    const words = new Uint32Array(signs.buffer, signs.byteOffset, 2 * signs.length)
    const [asked, keptAt] = [new Int32Array(signs.length), new Int32Array(signs.length)]
    const [here, buckets] = [new Int32Array(signs.length), new Int32Array(signs.length)]
    const places = new Int32Array(signs.length)
    const isHere = this.#isHere
    const hereWords = new Uint32Array(2 * signs.length)
    const [own, ownLengths] = [new BigUint64Array(signs.length), new Uint32Array(lengths.length)]
    let [askedCount, hereCount, i] = [0, 0, 0]
    for (let bucket = 0; bucket < lengths.length; bucket++) {
      const before = askedCount
      for (const end = i + lengths[bucket]!; i < end; i++) {
        const low = words[2 * i]!
        const high = words[2 * i + 1]!
        const known = this.#places.find(low, high)
        if (known >= 0 && isHere[known] === 1) {
          places[hereCount] = known
          here[hereCount] = i
          buckets[hereCount] = bucket
          hereWords[2 * hereCount] = low
          hereWords[2 * hereCount + 1] = high
          hereCount++
        } else {
          asked[askedCount] = i
          const isKept = known < 0 && this.#comesAgain(low, high) && this.#places.count < this.#most
          keptAt[askedCount] = isKept ? this.#admit(low, high, bucket) : NOBODY
          own[askedCount++] = signs[i]!
        }
      }
      ownLengths[bucket] = askedCount - before
    }
    for (let t = 0; t < rows.length; t++) this.#copyOut(t, here, places, hereCount, rows[t]!)
    return {
      distinct: { signs: own.subarray(0, askedCount), lengths: ownLengths },
      asked: asked.subarray(0, askedCount),
      keptAt: keptAt.subarray(0, askedCount),
      here: here.subarray(0, hereCount),
      words: hereWords.subarray(0, 2 * hereCount),
      buckets: buckets.subarray(0, hereCount),
      turn: this.#turn,
    }
  }

  /** What was asked for has come, of each table in `from`: it goes to the batch's `rows`, and stays here. */
  take({ asked, keptAt, turn }: Parted, from: readonly Float32Array[], rows: readonly Float32Array[]): void {
    for (const [t, dim] of this.#dims.entries()) {
      const [source, target, kept] = [from[t]!, rows[t]!, this.#weights[t]!]
      for (let j = 0; j < asked.length; j++) {
        const at = asked[j]! * dim
        for (let d = 0; d < dim; d++) target[at + d] = source[j * dim + d]!
        const place = turn === this.#turn ? keptAt[j]! : NOBODY
        if (place === NOBODY) continue
        for (let d = 0; d < dim; d++) kept[place * dim + d] = source[j * dim + d]!
        this.#isHere[place] = 1
      }
    }
  }

  /** A batch's gradients: those of rows that were asked for go to `to`, the others are added up here. */
  give({ asked, here, words, buckets }: Parted, gradients: readonly Float32Array[], to: readonly Float32Array[]): void {
    const places = new Int32Array(here.length)
    for (let j = 0; j < here.length; j++) {
      places[j] = this.#admit(words[2 * j]!, words[2 * j + 1]!, buckets[j]!)
      this.#summed[places[j]!]!++
    }
    for (const [t, dim] of this.#dims.entries()) {
      const [source, target, sums] = [gradients[t]!, to[t]!, this.#sums[t]!]
      for (let j = 0; j < asked.length; j++) {
        const at = asked[j]! * dim
        for (let d = 0; d < dim; d++) target[j * dim + d] = source[at + d]!
      }
      for (let j = 0; j < here.length; j++) {
        const at = here[j]! * dim
        const sum = places[j]! * dim
        for (let d = 0; d < dim; d++) sums[sum + d]! += source[at + d]!
      }
    }
  }

  /** What has been added up, and forgets all rows; in `buckets` groups of signs. */
  sumUp(buckets: number): Summed {
    const { words, count } = this.#places
    const lengths = new Uint32Array(buckets)
    for (let place = 0; place < count; place++) if (this.#summed[place]) lengths[this.#buckets[place]!]!++
    const next = new Uint32Array(buckets)
    for (let bucket = 1; bucket < buckets; bucket++) next[bucket] = next[bucket - 1]! + lengths[bucket - 1]!
    const all = next[buckets - 1]! + lengths[buckets - 1]!
    const signs = new BigUint64Array(all)
    const signWords = new Uint32Array(signs.buffer)
    const gradients = this.#dims.map((dim) => new Float32Array(all * dim))
    const counts = new Float32Array(3 * all)
    for (let place = 0; place < count; place++) {
      if (!this.#summed[place]) continue
      const at = next[this.#buckets[place]!]!++
      signWords.set(words.subarray(2 * place, 2 * place + 2), 2 * at)
      counts[3 * at + COUNT_AT] = this.#summed[place]!
      for (const [t, dim] of this.#dims.entries())
        gradients[t]!.set(this.#sums[t]!.subarray(place * dim, (place + 1) * dim), at * dim)
    }
    this.#forget()
    return { distinct: { signs, lengths }, gradients, counts }
  }

  #forget(): void {
    const { count } = this.#places
    for (const [t, dim] of this.#dims.entries()) this.#sums[t]!.fill(0, 0, count * dim)
    this.#isHere.fill(0, 0, count)
    this.#summed.fill(0, 0, count)
    this.#places.clear()
    this.#turn++
    const before = this.#seenBefore
    this.#seenBefore = this.#seen
    this.#seen = before.fill(0)
  }

  #comesAgain(low: number, high: number): boolean {
    const hash = Math.imul(high ^ Math.imul(low, 0x85ebca6b), 0x9e3779b1)
    const at = (hash ^ (hash >>> 16)) & (this.#seen.length - 1)
    const came = (this.#seen[at]! | this.#seenBefore[at]!) === 1
    this.#seen[at] = 1
    return came
  }

  #admit(low: number, high: number, bucket: number): number {
    const place = this.#places.add(low, high)
    this.#buckets[place] = bucket
    return place
  }

  #copyOut(table: number, to: Int32Array, places: Int32Array, count: number, rows: Float32Array): void {
    const dim = this.#dims[table]!
    const weights = this.#weights[table]!
    for (let j = 0; j < count; j++) {
      const at = to[j]! * dim
      const from = places[j]! * dim
      for (let d = 0; d < dim; d++) rows[at + d] = weights[from + d]!
    }
  }
}
