/** @file Gradients of rows of threads that make one step together: each puts its own here, and takes the sums of all for its share of the segments. */
import { type DistinctSigns, MergeRoom } from '../table/index.ts'
import type { TableShare } from './params.ts'

/** A memory for each thread, which grows as batches need it. */
export function createRowRooms(threads: number): readonly WebAssembly.Memory[] {
  return Array.from({ length: threads }, () => new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true }))
}

export interface MergedRows {
  readonly distinct: DistinctSigns
  /** [distinct, dim] */
  readonly gradients: Float32Array
  /** [distinct, 3] */
  readonly shown?: Float32Array
}

const PAGE_BYTES = 65536
/** Of a table in a room's directory: how many signs; where they, their segments' lengths, gradients, show and click (0: none) are. */
const ENTRY = 5

/** One thread's hold. Between `put` and `take`, and between `take` and the next `put`, all threads must have met. */
export class SharedRows {
  readonly #rooms: readonly WebAssembly.Memory[]
  readonly #thread: number
  readonly #segments: number
  #merging: MergeRoom | undefined

  constructor(rooms: readonly WebAssembly.Memory[], thread: number, segments: number) {
    this.#rooms = rooms
    this.#thread = thread
    this.#segments = segments
  }

  put(tables: readonly TableShare[]): void {
    const room = this.#rooms[this.#thread]!
    let end = 4 * ENTRY * tables.length
    const reserve = (bytes: number) => {
      const at = Math.ceil(end / 8) * 8
      end = at + bytes
      return at
    }
    const entries = tables.map(({ distinct, gradients, shown }) => [
      distinct.signs.length,
      reserve(distinct.signs.byteLength),
      reserve(distinct.lengths.byteLength),
      reserve(gradients.byteLength),
      shown ? reserve(shown.byteLength) : 0,
    ])
    if (end > room.buffer.byteLength) room.grow(Math.ceil((end - room.buffer.byteLength) / PAGE_BYTES))
    const { buffer } = room
    new Uint32Array(buffer).set(entries.flat())
    for (const [t, { distinct, gradients, shown }] of tables.entries()) {
      const [, signsAt, lengthsAt, gradientsAt, shownAt] = entries[t]!
      new BigUint64Array(buffer, signsAt, distinct.signs.length).set(distinct.signs)
      new Uint32Array(buffer, lengthsAt, distinct.lengths.length).set(distinct.lengths)
      new Float32Array(buffer, gradientsAt, gradients.length).set(gradients)
      if (shown) new Float32Array(buffer, shownAt, shown.length).set(shown)
    }
  }

  /** Table `t` of what threads 0 to n - 1 have put: segments thread, thread + n, ... of it, each sign once. */
  take(t: number, n: number, dim: number): MergedRows {
    const runs = this.#rooms.slice(0, n).flatMap((room) => this.#ownRuns(room.buffer, t, n, dim))
    const total = runs.reduce((sum, { signs }) => sum + signs.length, 0)
    const room = this.#fit(total, Math.max(3, dim))
    const distinct = room.distinct(runs.map(({ signs }) => signs))
    const gradients = room.add(
      runs.map((run) => run.gradients),
      runs.map(() => 1),
      dim,
    )
    const shown = runs.flatMap((run) => (run.shown ? [run.shown] : []))
    return { distinct, gradients, ...(shown.length > 0 && { shown: room.addShown(shown) }) }
  }

  #ownRuns(buffer: ArrayBufferLike, t: number, n: number, dim: number) {
    const [count, signsAt, lengthsAt, gradientsAt, shownAt] = new Uint32Array(buffer, 4 * ENTRY * t, ENTRY)
    const signs = new BigUint64Array(buffer, signsAt, count)
    const gradients = new Float32Array(buffer, gradientsAt, count! * dim)
    const shown = shownAt === 0 ? undefined : new Float32Array(buffer, shownAt, count! * 3)
    let to = 0
    return Array.from(new Uint32Array(buffer, lengthsAt, this.#segments), (length, segment) => {
      const from = to
      to += length
      return { segment, from, to }
    })
      .filter(({ segment, from: first, to: last }) => segment % n === this.#thread && last > first)
      .map(({ from, to: last }) => ({
        signs: signs.subarray(from, last),
        gradients: gradients.subarray(from * dim, last * dim),
        ...(shown && { shown: shown.subarray(from * 3, last * 3) }),
      }))
  }

  #fit(signs: number, dim: number): MergeRoom {
    if (!this.#merging || this.#merging.signs < signs || this.#merging.dim < dim)
      this.#merging = new MergeRoom(2 ** Math.ceil(Math.log2(Math.max(signs, 1024))), dim, this.#segments)
    return this.#merging
  }
}
