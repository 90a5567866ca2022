/** @file What has changed in a table since it was published last: rows that differ, rows that are no longer there. */
import { quantized, type RowForm, type TableChanges } from './delta-table.ts'
import type { Projection } from './project.ts'
import { ascending, type PublishedRows, wordsOf } from './published-rows.ts'

/** Rows as a table stores them. */
export interface StoredRows {
  readonly signs: BigUint64Array
  readonly rows: Uint8Array
}

export interface ChangesOptions {
  readonly published: PublishedRows
  readonly project: Projection
  readonly form: RowForm
  /** Columns before the weights. @default 0 */
  readonly leading?: number | undefined
  /** All rows of the table, or only those that may have changed. */
  readonly blocks: AsyncIterable<StoredRows> | Iterable<StoredRows>
  /** They are all: what is not among them has gone. */
  readonly isWhole: boolean
  /** Signs whose last change was published nowhere yet. @default none */
  readonly owed?: ReadonlySet<bigint> | undefined
  /** About how many rows will have changed: room is made for so many at once. @default 0 */
  readonly expected?: number | undefined
}

/** Rows as they were trained; what is published of them is what the file's form makes of them. */
export interface FoundChanges extends TableChanges {
  /** The largest difference between one of these rows and what is published of it. */
  readonly maxError: number
}

/** Finds the changes and brings `published` to them. */
export async function takeChanges(options: ChangesOptions): Promise<FoundChanges> {
  const { published, leading = 0, blocks, isWhole, owed } = options
  const work = new Comparison(options)
  if (isWhole) published.beginLook()
  for await (const { signs, rows } of blocks) work.look(signs, rows)
  const gone = isWhole ? [...work.gone, ...published.endLook()] : work.gone
  // Rows that went while nothing could be published are to go elsewhere too.
  const known = new Set(gone)
  for (const sign of owed ?? [])
    if (!known.has(sign) && published.find(Number(sign & 0xffffffffn), Number(sign >> 32n)) < 0) gone.push(sign)
  const { maxError } = work
  return { dim: published.dim, leading, ...work.found.sorted(), gone: BigUint64Array.from(gone).sort(), maxError }
}

/** Rows of the table, block by block, beside what is published of them. */
class Comparison {
  readonly found: GrowingRows
  readonly gone: bigint[] = []
  maxError = 0
  readonly #options: ChangesOptions
  /** Of a row that is published as bytes. */
  readonly #bytes: Uint8Array
  readonly #back: Float32Array
  readonly #backBits: Uint32Array
  #rows: Float32Array = new Float32Array(0)
  #bits: Uint32Array = new Uint32Array(0)
  #kept: Uint8Array = new Uint8Array(0)
  #places: Int32Array = new Int32Array(0)

  constructor(options: ChangesOptions) {
    const { published, leading = 0, expected = 0 } = options
    this.#options = options
    this.found = new GrowingRows(published.dim, expected)
    this.#bytes = new Uint8Array(published.dim - leading)
    this.#back = new Float32Array(published.dim)
    this.#backBits = new Uint32Array(this.#back.buffer)
  }

  look(signs: BigUint64Array, stored: Uint8Array): void {
    const { published, project, form, owed } = this.#options
    const { dim } = published
    this.#fit(signs.length)
    const [rows, bits, kept, places] = [this.#rows, this.#bits, this.#kept, this.#places]
    project(stored, signs.length, rows, kept)
    const words = wordsOf(signs)
    // All of them first: none waits for the memory that another one needs.
    published.locate(words, signs.length, places)
    for (let i = 0; i < signs.length; i++) {
      const [place, at] = [places[i]!, i * dim]
      if (kept[i] === 0) {
        if (published.removeAt(place)) this.gone.push(signs[i]!)
        continue
      }
      const isOwed = owed !== undefined && owed.size > 0 && owed.has(signs[i]!)
      if (!isOwed && published.isSame(place, bits, at)) published.see(place)
      else if (form === 'int8') this.#takeBytes(i, words, isOwed)
      else this.#take(i, words, rows, at)
    }
  }

  /** Row `i` as it was trained; `published` is what a reader of the delta has of it. */
  #take(i: number, words: Uint32Array, published: Float32Array, at: number): void {
    const { dim } = this.#options.published
    const [low, high] = [words[2 * i]!, words[2 * i + 1]!]
    this.found.add(low, high, this.#rows, i * dim)
    this.#options.published.putAt(this.#places[i]!, low, high, published, at)
  }

  /** A row that is the same as bytes has not changed. */
  #takeBytes(i: number, words: Uint32Array, isOwed: boolean): void {
    const { published, leading = 0 } = this.#options
    const [back, at] = [this.#back, i * published.dim]
    const row = this.#rows.subarray(at, at + published.dim)
    back.set(row.subarray(0, leading))
    quantized(row.subarray(leading), this.#bytes, back.subarray(leading))
    if (!isOwed && published.isSame(this.#places[i]!, this.#backBits, 0)) {
      published.see(this.#places[i]!)
      return
    }
    for (let j = 0; j < back.length; j++) this.maxError = Math.max(this.maxError, Math.abs(row[j]! - back[j]!))
    this.#take(i, words, back, 0)
  }

  #fit(count: number): void {
    if (count <= this.#kept.length) return
    this.#rows = new Float32Array(count * this.#options.published.dim)
    this.#bits = new Uint32Array(this.#rows.buffer)
    this.#kept = new Uint8Array(count)
    this.#places = new Int32Array(count)
  }
}

const FEWEST = 1024
/** A little more than the last time, so that it mostly suffices. */
const SPARE = 1.1

/** Changed rows in the order in which they come; later by sign. */
class GrowingRows {
  readonly #dim: number
  #words: Uint32Array
  #weights: Float32Array
  #rows = 0

  constructor(dim: number, expected: number) {
    const room = Math.max(FEWEST, Math.ceil(SPARE * expected))
    this.#dim = dim
    this.#words = new Uint32Array(2 * room)
    this.#weights = new Float32Array(room * dim)
  }

  add(low: number, high: number, from: Float32Array, first: number): void {
    if (2 * this.#rows === this.#words.length) {
      const [words, weights] = [new Uint32Array(2 * this.#words.length), new Float32Array(2 * this.#weights.length)]
      words.set(this.#words)
      weights.set(this.#weights)
      this.#words = words
      this.#weights = weights
    }
    this.#words[2 * this.#rows] = low
    this.#words[2 * this.#rows + 1] = high
    for (let j = 0, at = this.#rows * this.#dim; j < this.#dim; j++) this.#weights[at + j] = from[first + j]!
    this.#rows++
  }

  sorted(): { readonly signs: BigUint64Array; readonly weights: Float32Array } {
    const dim = this.#dim
    const order = ascending(this.#words, this.#rows)
    const signs = new BigUint64Array(this.#rows)
    const words = wordsOf(signs)
    const weights = new Float32Array(this.#rows * dim)
    for (let i = 0; i < order.length; i++) {
      const from = order[i]!
      words[2 * i] = this.#words[2 * from]!
      words[2 * i + 1] = this.#words[2 * from + 1]!
      for (let j = 0; j < dim; j++) weights[i * dim + j] = this.#weights[from * dim + j]!
    }
    return { signs, weights }
  }
}
