/** @file Rows by sign: out of a table file in memory, or as the trainer's evaluation sees them. */

import { mix64 } from '../../base/util/index.ts'
import { type LocalParams, namedWeights } from '../../weights/params/index.ts'
import { createTable, type DistinctSigns, SparseTable } from '../../weights/table/index.ts'
import type { RowSource } from './gather.ts'
import type { ExportTable } from './manifest.ts'
import type { TableMemory } from './table-file.ts'

export class FileRows implements RowSource {
  readonly #memory: TableMemory
  readonly #words: Uint32Array
  readonly #weights: Float32Array
  readonly #layers: readonly {
    readonly rows: number
    readonly index: SignIndex
    readonly words: Uint32Array
    readonly weights: Float32Array
  }[]
  /** An empty table, which imagines the rows of signs it does not have. */
  readonly #unseen: SparseTable
  readonly #sign: DistinctSigns = { signs: new BigUint64Array(1), lengths: Uint32Array.of(1) }
  readonly #signWords = new Uint32Array(this.#sign.signs.buffer)
  readonly #row: Float32Array

  constructor(memory: TableMemory, { name, dim, unseen }: ExportTable, seed: number) {
    this.#memory = memory
    this.#words = new Uint32Array(memory.signs)
    this.#weights = new Float32Array(memory.weights)
    this.#layers = (memory.layers ?? []).map(({ rows, index, signs, weights }) => ({
      ...{ rows, index, words: new Uint32Array(signs), weights: new Float32Array(weights) },
    }))
    // Neither optimizer nor segments matter to a table that is never written.
    const options = { name, dim, init: unseen, optimizer: { kind: 'sgd', learningRate: 0 } as const, seed, segments: 1 }
    this.#unseen = new SparseTable(createTable(options), 0)
    this.#row = new Float32Array(dim)
  }

  add(low: number, high: number, factor: number, out: Float32Array, at: number): void {
    const { dim } = this.#memory
    const { place, weights } = this.#find(low, high)
    const from = place < 0 ? this.#imagine(low, high) : weights
    const first = place < 0 ? 0 : place * dim
    // Products and sums are rounded to float32 one by one, as in the kernel.
    for (let j = 0; j < dim; j++) out[at + j] = out[at + j]! + Math.fround(factor * from[first + j]!)
  }

  /** Where the newest row of a sign is; -1 where it has none. */
  #find(low: number, high: number): { readonly place: number; readonly weights: Float32Array } {
    for (const { rows, index, words, weights } of this.#layers) {
      const place = findSign(index, words, low, high)
      if (place >= 0) return { place: place < rows ? place : -1, weights }
    }
    return { place: findSign(this.#memory.index, this.#words, low, high), weights: this.#weights }
  }

  #imagine(low: number, high: number): Float32Array {
    this.#signWords[0] = low
    this.#signWords[1] = high
    this.#unseen.lookup(this.#sign, this.#row, false)
    return this.#row
  }
}

/** Dense weights and state by name. */
export function denseWeights({ dense }: LocalParams): ReadonlyMap<string, Float32Array> {
  const all = new Float32Array(dense.layout.floats)
  dense.pull(all)
  return namedWeights(dense.layout, all)
}

/** Fills `rows` with the weights of signs grouped by segment; rows that are missing are only imagined. */
export function pullRows(params: LocalParams, table: number, distinct: DistinctSigns, rows: Float32Array): void {
  const nothing = new Float32Array()
  const weights = new Float32Array(params.dense.layout.floats)
  params.pull({ tables: [{ table, distinct, rows, gradients: nothing }], weights }, false)
}

/** The segment of a table that holds a sign. */
export function segmentOf(sign: bigint, segmentBits: number): number {
  return segmentBits === 0 ? 0 : Number(mix64(sign) >> BigInt(64 - segmentBits))
}

/** Rows of these signs straight from the trainer. */
export function trainerRows(params: LocalParams, index: number, signs: BigUint64Array): RowSource {
  const { dim, segmentBits } = params.tables[index]!
  const distinct = [...new Set(signs)].sort((a, b) => segmentOf(a, segmentBits) - segmentOf(b, segmentBits))
  const lengths = new Uint32Array(2 ** segmentBits)
  for (const sign of distinct) lengths[segmentOf(sign, segmentBits)]!++
  const rows = new Float32Array(distinct.length * dim)
  pullRows(params, index, { signs: BigUint64Array.from(distinct), lengths }, rows)
  const places = new Map(distinct.map((sign, i) => [sign, i * dim]))
  return {
    add: (low, high, factor, out, at) => {
      const first = places.get((BigInt(high) << 32n) | BigInt(low))!
      for (let j = 0; j < dim; j++) out[at + j] = out[at + j]! + Math.fround(factor * rows[first + j]!)
    },
  }
}

/** Row numbers plus one by hash, 0 where free; at most half full, so that one or two looks find a sign. */
export type SignIndex = Uint32Array

/** The index of `count` distinct signs stored as little-endian halves, in memory that threads share. */
export function indexSigns(words: Uint32Array, count: number): SignIndex {
  const size = 2 ** Math.max(1, Math.ceil(Math.log2(2 * Math.max(1, count))))
  const index = new Uint32Array(new SharedArrayBuffer(4 * size))
  for (let row = 0; row < count; row++) placeSign(index, words, row)
  return index
}

/** Notes where the sign of a row is, which the index has not yet. */
export function placeSign(index: SignIndex, words: Uint32Array, row: number): void {
  const mask = index.length - 1
  let at = hash(words[2 * row]!, words[2 * row + 1]!) & mask
  while (index[at] !== 0) at = (at + 1) & mask
  index[at] = row + 1
}

/** The row of the sign (low, high), or -1. */
export function findSign(index: SignIndex, words: Uint32Array, low: number, high: number): number {
  const mask = index.length - 1
  for (let at = hash(low, high) & mask; ; at = (at + 1) & mask) {
    const row = index[at]! - 1
    if (row < 0 || (words[2 * row] === low && words[2 * row + 1] === high)) return row
  }
}

/** Where the search for each of `count` signs begins. */
export function guessSigns(index: SignIndex, words: Uint32Array, count: number, places: Int32Array): void {
  const mask = index.length - 1
  for (let i = 0; i < count; i++) places[i] = index[hash(words[2 * i]!, words[2 * i + 1]!) & mask]! - 1
}

/** Mixes both halves into 32 bits; ids in a row must not fall into one place. */
function hash(low: number, high: number): number {
  let x = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 15), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 0
}
