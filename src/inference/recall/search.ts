/** @file Finds the nearest items of users: one thread's view of an index, and of the graph that makes users' vectors. */
import { NearestKernel, type Queries, vectorAt } from '../../base/kernel/index.ts'
import type { Columns, Slot } from '../../data/index.ts'
import { findSign } from '../export/index.ts'
import { unknownItem, unknownSlot, wrongK } from './errors.ts'
import { probedRanges } from './lists.ts'
import type { LoadedIndex } from './open.ts'
import { signsOf } from './signs.ts'

/** The nearest items of a user, nearest first. */
export interface Found {
  readonly ids: readonly bigint[]
  readonly scores: Float32Array
}

export interface SearchOptions {
  readonly k: number
  /** Items that are left out, by query. @default none */
  readonly exclude?: readonly (readonly bigint[] | BigUint64Array)[] | undefined
  /** Looks at all items, whatever the index has been made for. @default false */
  readonly exact?: boolean | undefined
}

/** More than this would be a list for nobody. */
const MOST_K = 100_000

export class Searcher {
  readonly #index: LoadedIndex
  readonly #words: Uint32Array
  readonly #items: NearestKernel
  readonly #centres: NearestKernel | undefined

  constructor(index: LoadedIndex) {
    this.#index = index
    this.#words = new Uint32Array(index.ids.buffer, index.ids.byteOffset, 2 * index.ids.length)
    this.#items = new NearestKernel(index.items)
    this.#centres = index.lists && new NearestKernel(index.lists.centres)
  }

  /** Blocks this thread. Fewer than k where the index has not so many. */
  search(queries: Queries, { k, exclude = [], exact = false }: SearchOptions): Found[] {
    if (!(Number.isSafeInteger(k) && k >= 1 && k <= MOST_K)) throw wrongK(k, MOST_K)
    const { ids, lists, manifest } = this.#index
    const left = exclude.map((own) => new Set(Array.from(own, (id) => this.#row(id)).filter((row) => row >= 0)))
    // What is left out may have been among the nearest, so that many more are looked for.
    const wanted = k + Math.max(0, ...left.map(({ size }) => size))
    const ranges =
      lists && !exact ? probedRanges(lists, this.#centres!, queries, manifest.lists!.probes, 2 * wanted) : undefined
    return this.#items.search(queries, wanted, ranges).map(({ rows, scores }, i) => {
      const kept = Array.from(rows.keys())
        .filter((at) => !left[i]?.has(rows[at]!))
        .slice(0, k)
      return {
        ids: kept.map((at) => ids[rows[at]!]!),
        scores: Float32Array.from(kept, (at) => scores[at]!),
      }
    })
  }

  /** Vectors of items, as queries for those like them. */
  itemQueries(ids: readonly bigint[]): Queries {
    const { items } = this.#index
    const data = new Float32Array(ids.length * items.dim)
    ids.forEach((id, i) => {
      const row = this.#row(id)
      if (row < 0) throw unknownItem(String(id))
      data.set(vectorAt(items, row), i * items.dim)
    })
    return { data }
  }

  #row(id: bigint): number {
    return findSign(this.#index.rows, this.#words, Number(id & 0xffffffffn), Number(id >> 32n))
  }
}

/** The items that users have in these slots, by sample. */
export function leftOut(slots: readonly Slot[], columns: Columns, names: readonly string[]): bigint[][] {
  const all = names.map((name) => signsOf(slots, columns, name))
  return Array.from({ length: columns.samples }, (_, i) => all.flatMap((own) => [...own[i]!]))
}

/** The error of a name that is no slot of ids. */
export function unknownSlots(slots: readonly Slot[], names: readonly string[]): Error | undefined {
  const known = slots.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
  const stranger = names.find((name) => !known.includes(name))
  return stranger === undefined ? undefined : unknownSlot(stranger, known)
}
