/** @file Gradients of rows of threads that make one step together: each puts its own here, and takes the sums of all for its share of the segments. */
import type { KernelMemory } from '../../base/kernel/index.ts'
import { SignMerger } from '../table/index.ts'
import type { BatchRows } from './params.ts'

/** A memory for each thread, which grows as batches need it. */
export function createRowRooms(threads: number): readonly KernelMemory[] {
  return Array.from({ length: threads }, () => new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true }))
}

const PAGE_BYTES = 65536
/** Of a table in a room's directory: how many signs; where they, their segments' lengths, gradients, show and click (0: none) are. */
const ENTRY = 5

/** As one thread uses it. Between `put` and `take`, and between `take` and the next `put`, all threads must have met. */
export class SharedRows {
  readonly #rooms: readonly KernelMemory[]
  readonly #thread: number
  readonly #segments: number
  readonly #merger: SignMerger

  constructor(rooms: readonly KernelMemory[], thread: number, segments: number) {
    this.#rooms = rooms
    this.#thread = thread
    this.#segments = segments
    this.#merger = new SignMerger(segments)
  }

  put(tables: readonly BatchRows[]): void {
    const room = this.#rooms[this.#thread]!
    let end = 4 * ENTRY * tables.length
    const reserve = (bytes: number) => {
      const at = Math.ceil(end / 8) * 8
      end = at + bytes
      return at
    }
    const entries = tables.map(({ distinct, gradients, showClick }) => [
      distinct.signs.length,
      reserve(distinct.signs.byteLength),
      reserve(distinct.lengths.byteLength),
      reserve(gradients.byteLength),
      showClick ? reserve(showClick.byteLength) : 0,
    ])
    if (end > room.buffer.byteLength) room.grow(Math.ceil((end - room.buffer.byteLength) / PAGE_BYTES))
    const { buffer } = room
    new Uint32Array(buffer).set(entries.flat())
    for (const [t, { distinct, gradients, showClick }] of tables.entries()) {
      const [, signsAt, lengthsAt, gradientsAt, showClickAt] = entries[t]!
      new BigUint64Array(buffer, signsAt, distinct.signs.length).set(distinct.signs)
      new Uint32Array(buffer, lengthsAt, distinct.lengths.length).set(distinct.lengths)
      new Float32Array(buffer, gradientsAt, gradients.length).set(gradients)
      if (showClick) new Float32Array(buffer, showClickAt, showClick.length).set(showClick)
    }
  }

  /** Table `t` of what threads 0 to n - 1 have put: segments thread, thread + n, ... of it, each sign once. */
  take(t: number, n: number, dim: number): Pick<BatchRows, 'distinct' | 'gradients' | 'showClick'> {
    const runs = this.#rooms.slice(0, n).flatMap((room) => this.#ownRuns(room.buffer, t, n, dim))
    const [signs, each] = [runs.map((run) => run.signs), runs.map((run) => run.gradients)]
    const counted = runs.flatMap((run) => run.showClick ?? [])
    const distinct = this.#merger.distinct(signs, Math.max(3, dim))
    const gradients = this.#merger.add(each, dim)
    return { distinct, gradients, showClick: counted.length > 0 ? this.#merger.addShowClick(counted) : undefined }
  }

  #ownRuns(buffer: ArrayBufferLike, t: number, n: number, dim: number) {
    const [count, signsAt, lengthsAt, gradientsAt, showClickAt] = new Uint32Array(buffer, 4 * ENTRY * t, ENTRY)
    const signs = new BigUint64Array(buffer, signsAt, count)
    const gradients = new Float32Array(buffer, gradientsAt, count! * dim)
    const showClick = showClickAt === 0 ? undefined : new Float32Array(buffer, showClickAt, count! * 3)
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
        showClick: showClick?.subarray(from * 3, last * 3),
      }))
  }
}
