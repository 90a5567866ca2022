/** @file Samples kept in memory: looked up by number, in the order they were read or in a drawn one. */
import { createRng, deriveSeed } from '../../base/util/index.ts'
import {
  type Batch,
  type Columns,
  createBufferPool,
  type ParsedChunk,
  type Piece,
  packColumns,
  type Shape,
  type Slot,
  shapeOf,
} from '../batch.ts'

export interface SampleStore {
  readonly samples: number
  /** Keeps the samples of a batch; it must not be released. */
  add(batch: Batch): void
  /** Keeps a copy of columns as columnsOf gives them. */
  addColumns(columns: Columns): void
  /** Some samples, by number, in memory of their own. */
  columnsOf(samples: Uint32Array): Columns
  /** Samples [from, to) of an order; the order in which they were added without one. */
  pieces(from: number, to: number, view?: StoreView): readonly Piece[]
}

export interface StoreView {
  /** Sample numbers. */
  readonly order: Uint32Array
  /** Slots whose values come from another sample: sample numbers by slot, in the places of `order`. */
  readonly slots?: ReadonlyMap<string, Uint32Array>
}

/** Gathered batches that a consumer may hold before its memory is left to the garbage collector. */
const BUFFERS = 64

export function createSampleStore(slots: readonly Slot[]): SampleStore {
  const shape = shapeOf(slots)
  const kept: Piece[] = []
  /** Number of the first sample of each piece. */
  const firsts: number[] = []
  const buffers = createBufferPool(BUFFERS)
  let samples = 0

  const find = (sample: number) => {
    const number = lastAtMost(firsts, sample)
    const { chunk, from, to } = kept[number]!
    const row = from + sample - firsts[number]!
    return { chunk, row, left: to - row }
  }
  /** Views on what is kept, without a copy. */
  const inOrder = (from: number, to: number): Piece[] => {
    const pieces: Piece[] = []
    for (let at = from; at < to; ) {
      const { chunk, row, left } = find(at)
      const count = Math.min(left, to - at)
      pieces.push({ chunk, from: row, to: row + count })
      at += count
    }
    return pieces
  }
  const gather = (from: number, to: number, view: StoreView): Piece => {
    const rows = Array.from(view.order.subarray(from, to), find)
    const others = slots.map(({ name }) => {
      const order = view.slots?.get(name)
      return order && Array.from(order.subarray(from, to), find)
    })
    const sources = { sparse: takeKind(slots, others, 'sparse'), dense: takeKind(slots, others, 'dense') }
    const columns = gatherColumns(rows, sources, shape)
    const chunk = packColumns(columns, shape, buffers.take())
    buffers.lend(chunk)
    return { chunk, from: 0, to: to - from }
  }
  const keep = ({ chunk, from, to }: Piece) => {
    // Without a lease nobody gives the memory back.
    const { lease: _, ...own } = chunk
    kept.push({ chunk: own, from, to })
    firsts.push(samples)
    samples += to - from
  }
  return {
    get samples() {
      return samples
    },
    add: ({ pieces }) => {
      for (const piece of pieces) keep(piece)
    },
    addColumns: (columns) => keep({ chunk: packColumns(columns, shape), from: 0, to: columns.samples }),
    columnsOf: (numbers) => gatherColumns(Array.from(numbers, find), NOWHERE_ELSE, shape),
    pieces: (from, to, view) => (view ? [gather(from, to, view)] : inOrder(from, to)),
  }
}

/** The place of the last number that is not above `value`, in a list that rises. */
function lastAtMost(numbers: readonly number[], value: number): number {
  let [low, high] = [0, numbers.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (numbers[middle]! <= value) low = middle
    else high = middle - 1
  }
  return low
}

const NOWHERE_ELSE: Sources = { sparse: [], dense: [] }

/** The numbers 0 to count - 1 in an order that depends on seed and name alone. */
export function drawnOrder(count: number, seed: number, name: string): Uint32Array {
  const rng = createRng(deriveSeed(seed, name))
  const order = Uint32Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    const j = rng.below(i + 1)
    const swapped = order[i]!
    order[i] = order[j]!
    order[j] = swapped
  }
  return order
}

type Rows = readonly { readonly chunk: ParsedChunk; readonly row: number }[]
interface Sources {
  /** Rows of the sparse and dense slots that come from elsewhere, in slot order. */
  readonly sparse: readonly (Rows | undefined)[]
  readonly dense: readonly (Rows | undefined)[]
}

function gatherColumns(rows: Rows, sources: Sources, { sparseSlots, widths }: Shape): Columns {
  const moved = sources.sparse.some((source) => source !== undefined)
  const counts = new Uint32Array(rows.length * sparseSlots)
  const starts = new Uint32Array(rows.length + 1)
  for (const [i, { chunk, row }] of rows.entries()) {
    counts.set(chunk.counts.subarray(row * sparseSlots, (row + 1) * sparseSlots), i * sparseSlots)
    let total = chunk.starts[row + 1]! - chunk.starts[row]!
    if (moved) {
      for (const [s, source] of sources.sparse.entries()) {
        if (!source) continue
        const other = source[i]!
        const count = other.chunk.counts[other.row * sparseSlots + s]!
        total += count - counts[i * sparseSlots + s]!
        counts[i * sparseSlots + s] = count
      }
    }
    starts[i + 1] = starts[i]! + total
  }
  const signs = new BigUint64Array(starts[rows.length]!)
  for (const [i, { chunk, row }] of rows.entries()) {
    if (!moved) signs.set(chunk.signs.subarray(chunk.starts[row], chunk.starts[row + 1]), starts[i]!)
    else
      for (let s = 0, at = starts[i]!; s < sparseSlots; s++)
        at = copySlot(signs, at, sources.sparse[s]?.[i] ?? rows[i]!, s, sparseSlots)
  }
  const dense = widths.map((width, d) => {
    const from = sources.dense[d] ?? rows
    const Type = rows[0]?.chunk.dense[d] instanceof BigInt64Array ? BigInt64Array : Float32Array
    const column = new Type(rows.length * width)
    for (const [i, { chunk, row }] of from.entries()) {
      column.set(chunk.dense[d]!.subarray(row * width, (row + 1) * width) as never, i * width)
    }
    return column
  })
  return { samples: rows.length, counts, starts, signs, dense }
}

function copySlot(
  to: BigUint64Array,
  at: number,
  { chunk, row }: Rows[number],
  slot: number,
  sparseSlots: number,
): number {
  let start = chunk.starts[row]!
  for (let s = 0; s < slot; s++) start += chunk.counts[row * sparseSlots + s]!
  const count = chunk.counts[row * sparseSlots + slot]!
  to.set(chunk.signs.subarray(start, start + count), at)
  return at + count
}

function takeKind(slots: readonly Slot[], rows: readonly (Rows | undefined)[], kind: Slot['kind']) {
  return rows.filter((_, i) => slots[i]!.kind === kind)
}
