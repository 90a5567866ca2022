/** @file Bindings of assembly/nearest.ts: vectors in shared memory, the nearest of them to a query by inner product, and the rank of one among all. */
import { type KernelMemory, loadKernel, pagesFor, WASM_PAGE_BYTES } from './load.ts'

interface NearestExports {
  dot(query: number, row: number, bytes: number): number
  score(query: number, rows: number, bytes: number, from: number, to: number, out: number): void
  offer(scores: number, from: number, to: number, heap: number, size: number, k: number): number
  order(heap: number, size: number): void
  atLeast(queries: number, rows: number, bytes: number, count: number, limits: number, out: number): void
  larger(into: number, from: number, n: number): void
  countAtLeast(scores: number, n: number, limit: number): number
}

/** Vectors in memory that threads share: plain data, so that it goes to other threads by postMessage. */
export interface VectorMemory {
  readonly memory: KernelMemory
  readonly count: number
  readonly dim: number
}

/** Rows [from, to) of the vectors. */
export type RowRange = readonly [from: number, to: number]

/** Some queries, each of `interests` vectors: the nearest of them to a row counts. */
export interface Queries {
  readonly data: Float32Array
  /** @default 1 */
  readonly interests?: number | undefined
}

/** The best rows of a query, best first. */
export interface Nearest {
  readonly rows: Uint32Array
  readonly scores: Float32Array
}

/** First usable byte: below lie the kernel's constants. */
const BASE = WASM_PAGE_BYTES
/** Rows scored at a time: they stay in the second cache while all queries pass over them. */
const BLOCK_ROWS = 1024
/** atLeast() takes so many queries at once. */
const TILE = 4
/** What one memory holds, less what threads need to work with. */
const MOST_BYTES = 2 ** 32 - 2 ** 28

const rowBytes = (dim: number) => 16 * Math.ceil(dim / 4)

/** How many vectors of this width one memory holds. */
export const mostVectors = (dim: number): number => Math.floor(MOST_BYTES / rowBytes(dim))

/** Room for vectors, all zeros; setVector() fills it. */
export function createVectors(count: number, dim: number): VectorMemory {
  const pages = pagesFor(BASE + count * rowBytes(dim))
  return { memory: new WebAssembly.Memory({ initial: pages, maximum: 65536, shared: true }), count, dim }
}

/** Copies `values` over the vectors from `row` on; they are as many as the values are. */
export function setVectors({ memory, dim }: VectorMemory, row: number, values: Float32Array): void {
  const stride = rowBytes(dim) / 4
  const all = new Float32Array(memory.buffer, BASE)
  if (stride === dim) all.set(values, row * dim)
  else for (let at = 0; at < values.length; at += dim, row++) all.set(values.subarray(at, at + dim), row * stride)
}

/** One of the vectors, as a view. */
export function vectorAt({ memory, dim }: VectorMemory, row: number): Float32Array {
  return new Float32Array(memory.buffer, BASE + row * rowBytes(dim), dim)
}

/** A thread's view of vectors, with memory of its own beside them to work in. */
export class NearestKernel {
  readonly #vectors: VectorMemory
  readonly #kernel: NearestExports
  readonly #bytes: number
  #scratch = { at: 0, bytes: 0 }

  constructor(vectors: VectorMemory) {
    this.#vectors = vectors
    this.#kernel = loadKernel<NearestExports>('nearest', vectors.memory)
    this.#bytes = rowBytes(vectors.dim)
  }

  /** The `k` best rows of each query, among all rows or those of its ranges; fewer where there are not so many. Of equal scores the lower row is first. */
  search(queries: Queries, k: number, ranges?: readonly (readonly RowRange[])[]): Nearest[] {
    const { count } = this.#vectors
    const { interests, users } = this.#sizes(queries)
    const kept = Math.min(k, count)
    const heapBytes = 8 * Math.max(1, kept) + 8
    const place = this.#room(users * interests, users * heapBytes)
    this.#setQueries(place.queries, queries.data)
    const sizes = new Uint32Array(users)
    const pass = (user: number, from: number, to: number) => {
      this.#score(place, user, interests, from, to)
      const heap = place.rest + user * heapBytes
      sizes[user] = this.#kernel.offer(place.scores, from, to, heap, sizes[user]!, kept)
    }
    if (ranges) {
      for (let user = 0; user < users; user++)
        for (const [first, end] of ranges[user]!) for (const [from, to] of blocks(first, end)) pass(user, from, to)
    } else for (const [from, to] of blocks(0, count)) for (let user = 0; user < users; user++) pass(user, from, to)
    return Array.from(sizes, (size, user) => {
      const heap = place.rest + user * heapBytes
      this.#kernel.order(heap, size)
      const pairs = {
        scores: new Float32Array(this.#buffer, heap, 2 * size),
        rows: new Uint32Array(this.#buffer, heap, 2 * size),
      }
      return {
        rows: Uint32Array.from({ length: size }, (_, i) => pairs.rows[2 * i + 1]!),
        scores: Float32Array.from({ length: size }, (_, i) => pairs.scores[2 * i]!),
      }
    })
  }

  /**
   * The rank of row `own[u]` for each query, from 1 on: how many rows have at least its score. A tie counts against it, and a score that is no
   * number is behind all. `left[u]` are rows that are not ranked.
   */
  ranks(queries: Queries, own: ArrayLike<number>, left?: readonly ArrayLike<number>[]): Float64Array {
    const { count } = this.#vectors
    const { interests, users } = this.#sizes(queries)
    const place = this.#room(users * interests + TILE, 4 * 2 * TILE + 16)
    this.#setQueries(place.queries, queries.data)
    const scoreOf = (user: number, row: number) => this.#scoreOf(place, user, interests, row)
    const limits = Float32Array.from({ length: users }, (_, user) => scoreOf(user, own[user]!))
    const ranks = new Float64Array(users)
    if (interests === 1) this.#tiles(place, limits, ranks)
    else
      for (const [from, to] of blocks(0, count))
        for (let user = 0; user < users; user++) {
          this.#score(place, user, interests, from, to)
          ranks[user]! += this.#kernel.countAtLeast(place.scores, to - from, limits[user]!)
        }
    for (let user = 0; user < users; user++) {
      if (Number.isNaN(limits[user]!)) ranks[user] = Number.POSITIVE_INFINITY
      for (const row of new Set(Array.from(left?.[user] ?? [])))
        if (row !== own[user] && scoreOf(user, row) >= limits[user]!) ranks[user]!--
    }
    return ranks
  }

  /** Four queries at a time; those behind the last find nothing to compare with. */
  #tiles(place: Room, limits: Float32Array, ranks: Float64Array): void {
    const { count } = this.#vectors
    const [own, found] = [
      new Float32Array(this.#buffer, place.rest, TILE),
      new Uint32Array(this.#buffer, place.rest + 4 * TILE, TILE),
    ]
    for (let first = 0; first < limits.length; first += TILE) {
      own.fill(Number.NaN)
      own.set(limits.subarray(first, first + TILE))
      const queries = place.queries + first * this.#bytes
      this.#kernel.atLeast(queries, BASE, this.#bytes, count, place.rest, place.rest + 4 * TILE)
      for (let i = 0; i < TILE && first + i < limits.length; i++) ranks[first + i] = found[i]!
    }
  }

  #score(place: Room, user: number, interests: number, from: number, to: number): void {
    for (let i = 0; i < interests; i++) {
      const query = place.queries + (user * interests + i) * this.#bytes
      const out = i === 0 ? place.scores : place.others
      this.#kernel.score(query, BASE, this.#bytes, from, to, out)
      if (i > 0) this.#kernel.larger(place.scores, out, to - from)
    }
  }

  #scoreOf(place: Room, user: number, interests: number, row: number): number {
    const scores = Array.from({ length: interests }, (_, i) => {
      const query = place.queries + (user * interests + i) * this.#bytes
      return this.#kernel.dot(query, BASE + row * this.#bytes, this.#bytes)
    })
    // As larger() does: one that is no number is passed over, unless it is the first.
    return scores.reduce((best, score) => (best < score ? score : best))
  }

  #sizes({ data, interests = 1 }: Queries) {
    return { interests, users: data.length / (interests * this.#vectors.dim) }
  }

  #setQueries(at: number, data: Float32Array): void {
    const { dim } = this.#vectors
    const to = new Float32Array(this.#buffer, at)
    const stride = this.#bytes / 4
    for (let i = 0; i * dim < data.length; i++) {
      to.fill(0, i * stride, (i + 1) * stride)
      to.set(data.subarray(i * dim, (i + 1) * dim), i * stride)
    }
  }

  get #buffer(): ArrayBuffer | SharedArrayBuffer {
    return this.#vectors.memory.buffer
  }

  /** What a call needs beside the vectors. Pages that are added to the memory are those of the thread that asked for them. */
  #room(queries: number, rest: number): Room {
    const bytes = queries * this.#bytes + 2 * 4 * BLOCK_ROWS + rest
    if (bytes > this.#scratch.bytes) {
      const pages = pagesFor(2 * bytes)
      this.#scratch = { at: this.#vectors.memory.grow(pages) * WASM_PAGE_BYTES, bytes: pages * WASM_PAGE_BYTES }
    }
    const { at } = this.#scratch
    const scores = at + queries * this.#bytes
    return { queries: at, scores, others: scores + 4 * BLOCK_ROWS, rest: scores + 2 * 4 * BLOCK_ROWS }
  }
}

/** Addresses. */
interface Room {
  readonly queries: number
  readonly scores: number
  readonly others: number
  readonly rest: number
}

function* blocks(first: number, end: number): Generator<RowRange> {
  for (let from = first; from < end; from += BLOCK_ROWS) yield [from, Math.min(end, from + BLOCK_ROWS)]
}
