/** @file From a feed to a batch, and DataFeeder, which makes feeds of samples. */
import { type Batch, batchOf, createColumnWriter, type Sample, type Slot } from '../../data/index.ts'
import { feedMissing, feedSize } from './errors.ts'
import type { Variable } from './variable.ts'

type Numbers = ArrayLike<number | bigint>
/** One entry per sample (a number or a list), or all values in one typed array. */
export type FeedValue = Numbers | ReadonlyArray<number | bigint | Numbers>
/** Values of data layers, by name. */
export type Feed = Readonly<Record<string, FeedValue>>

/** Makes feeds: the fields of each sample go to these variables in their order. */
export class DataFeeder {
  readonly #names: readonly string[]

  constructor({ feedList }: { readonly feedList: readonly Variable[]; readonly place?: unknown }) {
    this.#names = feedList.map(({ name }) => name)
  }

  feed(samples: Iterable<ReadonlyArray<number | bigint | Numbers>>): Record<string, (number | bigint | Numbers)[]> {
    const rows = [...samples]
    const wrong = rows.find((row) => row.length !== this.#names.length)
    if (wrong) throw feedSize(this.#names.join(', '), wrong.length, `a sample has ${this.#names.length} fields`)
    return Object.fromEntries(this.#names.map((name, i) => [name, rows.map((row) => row[i]!)]))
  }
}

/** The fed values of these slots as batch `index`. */
export function feedBatch(slots: readonly Slot[], feed: Feed, index: number): Batch {
  const columns = slots.map((slot) => {
    const value = feed[slot.name]
    if (value === undefined) throw feedMissing(slot.name, Object.keys(feed))
    return samplesOf(slot, value)
  })
  const size = columns[0]?.length ?? 1
  const uneven = columns.findIndex((column) => column.length !== size)
  if (uneven >= 0)
    throw feedSize(slots[uneven]!.name, columns[uneven]!.length, `"${slots[0]!.name}" has ${size} samples`)
  const writer = createColumnWriter(slots)
  for (let i = 0; i < size; i++) writer.add(columns.map((column) => column[i]!) as Sample)
  return batchOf(writer.take().columns, index)
}

/** Values sample by sample. */
function samplesOf(slot: Slot, value: FeedValue): readonly (number | bigint | Numbers)[] {
  if (!ArrayBuffer.isView(value)) return Array.from(value as ArrayLike<number | bigint | Numbers>, flat)
  const width = slot.kind === 'dense' ? slot.width : 1
  const all = value as unknown as Float32Array
  if (all.length % width > 0) throw feedSize(slot.name, all.length, `each sample has ${width}`)
  return Array.from({ length: all.length / width }, (_, i) => all.subarray(i * width, (i + 1) * width))
}

/** A sample of several dimensions as one list. */
function flat(value: number | bigint | Numbers): number | bigint | Numbers {
  return Array.isArray(value) ? (value.flat(Number.POSITIVE_INFINITY) as number[]) : value
}
