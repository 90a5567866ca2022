/** @file Rows out of a table file in memory. A sign that is not there gets the row training would give it, from training's own kernel. */
import { createTable, type DistinctSigns, SparseTable } from '../table/index.ts'
import type { RowSource } from './gather.ts'
import type { ExportTable } from './manifest.ts'
import { findSign } from './search.ts'
import type { TableMemory } from './table-file.ts'

export class FileTable implements RowSource {
  readonly #memory: TableMemory
  readonly #words: Uint32Array
  readonly #weights: Float32Array
  /** An empty table, which imagines the rows of signs it does not have. */
  readonly #unseen: SparseTable
  readonly #sign: DistinctSigns = { signs: new BigUint64Array(1), lengths: Uint32Array.of(1) }
  readonly #signWords = new Uint32Array(this.#sign.signs.buffer)
  readonly #row: Float32Array

  constructor(memory: TableMemory, { name, dim, unseen }: ExportTable, seed: number) {
    this.#memory = memory
    this.#words = new Uint32Array(memory.signs)
    this.#weights = new Float32Array(memory.weights)
    // Neither optimizer nor segments matter to a table that is never written.
    const options = { name, dim, init: unseen, optimizer: { kind: 'sgd', learningRate: 0 } as const, seed, segments: 1 }
    this.#unseen = new SparseTable(createTable(options), 0)
    this.#row = new Float32Array(dim)
  }

  add(low: number, high: number, factor: number, out: Float32Array, at: number): void {
    const { dim, index } = this.#memory
    const place = findSign(index, this.#words, low, high)
    const from = place < 0 ? this.#imagine(low, high) : this.#weights
    const first = place < 0 ? 0 : place * dim
    // Products and sums are rounded to float32 one by one, as in the kernel.
    for (let j = 0; j < dim; j++) out[at + j] = out[at + j]! + Math.fround(factor * from[first + j]!)
  }

  #imagine(low: number, high: number): Float32Array {
    this.#signWords[0] = low
    this.#signWords[1] = high
    this.#unseen.lookup(this.#sign, this.#row, false)
    return this.#row
  }
}
