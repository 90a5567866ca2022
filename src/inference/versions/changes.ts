/** @file What has changed in a table since it was published last: rows that differ, rows that are no longer there. */
import { quantized, type RowForm, type TableChanges } from './delta-table.ts'
import type { Projection } from './project.ts'
import { ascending, PublishedRows, wordsOf } from './published-rows.ts'

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
}

/** Rows as they were trained; what is published of them is what the file's form makes of them. */
export interface FoundChanges extends TableChanges {
  /** The largest difference between one of these rows and what is published of it. */
  readonly maxError: number
}

/** Finds the changes and brings `published` to them. */
export async function takeChanges(options: ChangesOptions): Promise<FoundChanges> {
  const { published, project, form, leading = 0, blocks, isWhole, owed } = options
  const { dim } = published
  const found = new GrowingRows(dim)
  const gone: bigint[] = []
  const [row, back, bytes] = [new Float32Array(dim), new Float32Array(dim), new Uint8Array(dim - leading)]
  const rowBits = new Uint32Array(row.buffer)
  const backBits = new Uint32Array(back.buffer)
  let [seen, maxError] = [0, 0]
  const marks = isWhole ? new PublishedRows(0) : undefined
  for await (const { signs, rows } of blocks) {
    const words = wordsOf(signs)
    for (let i = 0; i < signs.length; i++) {
      const [low, high] = [words[2 * i]!, words[2 * i + 1]!]
      if (!project(rows, i, row)) {
        if (published.remove(low, high)) gone.push(signs[i]!)
        continue
      }
      seen++
      marks?.put(low, high, row, 0)
      const at = published.find(low, high)
      if (at >= 0 && published.equals(at, rowBits) && !owed?.has(signs[i]!)) continue
      if (form === 'int8') {
        back.set(row.subarray(0, leading))
        quantized(row.subarray(leading), bytes, back.subarray(leading))
        if (at >= 0 && published.equals(at, backBits) && !owed?.has(signs[i]!)) continue
        for (let j = 0; j < dim; j++) maxError = Math.max(maxError, Math.abs(row[j]! - back[j]!))
      }
      found.add(low, high, row)
      published.put(low, high, form === 'int8' ? back : row, 0)
    }
  }
  if (marks && published.rows > seen) {
    const lost = [...published.signs()].filter(([low, high]) => marks.find(low, high) < 0)
    for (const [low, high] of lost) {
      published.remove(low, high)
      gone.push((BigInt(high) << 32n) | BigInt(low))
    }
  }
  // Rows that went while nothing could be published are to go elsewhere too.
  const known = new Set(gone)
  for (const sign of owed ?? [])
    if (!known.has(sign) && published.find(Number(sign & 0xffffffffn), Number(sign >> 32n)) < 0) gone.push(sign)
  return { dim, leading, ...found.sorted(), gone: BigUint64Array.from(gone).sort(), maxError }
}

/** Changed rows in the order in which they come; later by sign. */
class GrowingRows {
  readonly #dim: number
  #words = new Uint32Array(2048)
  #weights: Float32Array
  #rows = 0

  constructor(dim: number) {
    this.#dim = dim
    this.#weights = new Float32Array(1024 * dim)
  }

  add(low: number, high: number, row: Float32Array): void {
    if (2 * this.#rows === this.#words.length) {
      const [words, weights] = [new Uint32Array(2 * this.#words.length), new Float32Array(2 * this.#weights.length)]
      words.set(this.#words)
      weights.set(this.#weights)
      this.#words = words
      this.#weights = weights
    }
    this.#words[2 * this.#rows] = low
    this.#words[2 * this.#rows + 1] = high
    for (let j = 0, at = this.#rows * this.#dim; j < this.#dim; j++) this.#weights[at + j] = row[j]!
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
