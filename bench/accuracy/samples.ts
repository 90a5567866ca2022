/** @file The data of the accuracy table in memory: every set as the same kind of sample, every model's slots filled from it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRng, deriveSeed } from '../../src/base/util/index.ts'
import { type Batch, createHiddenModel, createLongTail, type ParsedChunk, type Slot } from '../../src/data/index.ts'
import { ratings } from './ratings.ts'

export const DATA = ['criteo', 'few-ids', 'ratings', 'long-tail', 'movielens'] as const
export type DataName = (typeof DATA)[number]

/** What all sets have in common: 26 columns of ids (-1: missing), 13 values, two labels, and a history for models that read one. */
export interface Sample {
  readonly label: number
  readonly second: number
  readonly ids: Int32Array
  readonly dense: Float32Array
  readonly history: readonly (readonly [item: number, category: number])[]
  readonly target: readonly [item: number, category: number]
}

export interface SampleSet {
  readonly train: ParsedChunk
  readonly test: ParsedChunk
}

export interface SampleOptions {
  readonly data: DataName
  readonly rows: number
  readonly testRows: number
  readonly seed: number
  /** The folder with ml-100k. */
  readonly folder?: string | undefined
}

/** Training rows in the order of time, and the rows after them. */
export function openSamples(options: SampleOptions, slots: readonly Slot[]): SampleSet {
  const samples = SOURCES[options.data](options)
  const filled = (part: readonly Sample[]) => fill(part, slots)
  return { train: filled(samples.slice(0, options.rows)), test: filled(samples.slice(options.rows)) }
}

/** Batches over a chunk, the last one dropped where it is not full. */
export function batchesOf(chunk: ParsedChunk, size: number): Batch[] {
  return Array.from({ length: Math.floor(chunk.samples / size) }, (_, index) => {
    const [from, to] = [index * size, (index + 1) * size]
    const cursor = { chunk: 0, sample: to }
    return { epoch: 0, index, size, pieces: [{ chunk, from, to }], cursor, fraction: to / chunk.samples }
  })
}

const SOURCES: Readonly<Record<DataName, (options: SampleOptions) => Sample[]>> = {
  criteo: (options) => criteo(options, (rank) => rank),
  /** So few ids that every worker trains every row many times. */
  'few-ids': (options) => criteo(options, (rank) => (rank < 0 ? rank : rank % FEW)),
  ratings: (options) => ratings(options),
  'long-tail': ({ rows, testRows, seed }) => {
    const stream = createLongTail(seed, rows + testRows)
    return Array.from({ length: rows + testRows }, () => {
      const { ids, dense, label, second } = stream.next()
      const liked = [...ids.subarray(18)].filter((item) => item >= 0)
      const history = liked.map((item) => [item, stream.categoryOf(item)] as const)
      return { label, second, ids: ids.slice(), dense: dense.slice(), history, target: [ids[1]!, ids[2]!] }
    })
  },
  movielens: (options) => movielens(options),
}

function criteo({ rows, testRows, seed }: SampleOptions, id: (rank: number) => number): Sample[] {
  const hidden = createHiddenModel(seed)
  const rng = createRng(deriveSeed(seed, 'second label'))
  return Array.from({ length: rows + testRows }, () => {
    const { ranks: drawn, counts, label, score } = hidden.next()
    const ranks = drawn.map(id)
    const dense = Float32Array.from(counts, (count, d) => Math.max(0, count) / CRITEO_RANGE[d]!)
    const second = rng.uniform() < 1 / (1 + Math.exp(1 - score)) ? 1 : 0
    const history = CRITEO_HISTORY.map((c, i) => [key(c, ranks[c]!), key(i, ranks[CRITEO_SMALL[i]!]!)] as const)
    return { label, second, ids: ranks, dense, history, target: [key(21, ranks[21]!), key(22, ranks[22]!)] }
  })
}

const FEW = 1000
const CRITEO_RANGE = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]
/** DIN on criteo-like data: columns of many values stand for items, those that interact for categories. */
const CRITEO_HISTORY = [0, 3, 5, 8, 11, 13, 16, 18]
const CRITEO_SMALL = [4, 7, 10, 15, 1, 17, 12, 20]

/** Distinct over columns. */
const key = (column: number, id: number) => (id < 0 ? 0 : column * 2 ** 24 + id + 1)

/** Ratings in an order drawn by seed, 4 and 5 stars being the label; what a user liked before is the history. */
function movielens({ folder, seed, rows, testRows }: SampleOptions): Sample[] {
  if (folder === undefined) throw new Error('MovieLens needs OARFISH_DATA, the folder with ml-100k')
  const table = (name: string) =>
    readFileSync(join(folder, 'ml-100k', name), 'latin1')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split('|'))
  const users = new Map(table('u.user').map(([id, ...rest]) => [id!, rest]))
  const items = new Map(table('u.item').map(([id, ...rest]) => [id!, rest]))
  const occupations = [...new Set([...users.values()].map(([, , job]) => job!))]
  const liked = new Map<string, number[]>()
  const genresOf = (item: string) => items.get(item)!.slice(4).map(Number)
  const genreOf = (item: string) => Math.max(0, genresOf(item).indexOf(1))
  const ratings = table('u.data').sort((a, b) => Number(a[3]) - Number(b[3]))
  const samples = ratings.map(([user, item, stars]): Sample => {
    const [age, gender, job, zip] = users.get(user!)!
    const genres = genresOf(item!)
    const year = Number(items.get(item!)![1]!.slice(-4)) || 1900
    const past = liked.get(user!) ?? []
    const [u, i, g, a, j] = [Number(user), Number(item), genreOf(item!), Number(age), occupations.indexOf(job!)]
    const z = Number.parseInt(zip!.slice(0, 2), 36)
    const ids = Int32Array.from({ length: 26 }, () => -1)
    ids.set([u, i, g, Math.floor(a / 5), gender === 'M' ? 1 : 0, j, z, year - 1900])
    ids.set(
      [u * 32 + g, i * 32 + Math.floor(a / 5), i * 32 + j, g * 32 + j, g * 32 + Math.floor(a / 5), i * 2 + ids[4]!],
      8,
    )
    ids.set([(year - 1900) * 32 + g, u * 256 + year - 1900, past[0] ?? -1, past[1] ?? -1], 14)
    for (let h = 0; h < 8; h++) ids[18 + h] = past[h + 2] ?? -1
    const dense = Float32Array.from({ length: 13 }, (_, d) =>
      d === 0 ? a / 60 : d === 1 ? (year - 1900) / 100 : genres[d]!,
    )
    const label = Number(stars) >= 4 ? 1 : 0
    const history = past.map((one) => [one, genreOf(String(one))] as const)
    if (label === 1) liked.set(user!, [i, ...past].slice(0, 10))
    return { label, second: Number(stars) === 5 ? 1 : 0, ids, dense, history, target: [i, g] }
  })
  const rng = createRng(deriveSeed(seed, 'movielens order'))
  for (let i = samples.length - 1; i > 0; i--) {
    const j = rng.below(i + 1)
    ;[samples[i], samples[j]] = [samples[j]!, samples[i]!]
  }
  if (rows + testRows > samples.length) throw new Error(`MovieLens has ${samples.length} ratings`)
  return samples.slice(0, rows + testRows)
}

/** Buckets of each column where a model reads one wide vector instead of ids. */
const BUCKETS = 16
export const WIDE = 13 + 26 * BUCKETS

/** The values of a slot for a sample: numbers of a dense slot, ids of a sparse one. */
function valuesOf(slot: Slot, sample: Sample): readonly number[] | Float32Array {
  const { label, second, ids, dense, history, target } = sample
  const some = (list: readonly number[]) => (list.length > 0 ? list : [0])
  const named: Readonly<Record<string, () => readonly number[] | Float32Array>> = {
    click: () => [label],
    label: () => [label],
    label_income: () => [label],
    label_marital: () => [second],
    dense_feature: () => dense,
    hist_item_seq: () => some(history.map(([item]) => item)),
    hist_cat_seq: () => some(history.map(([, category]) => category)),
    target_item: () => [target[0]],
    target_cat: () => [target[1]],
    input: () => {
      const wide = new Float32Array(WIDE)
      wide.set(dense)
      for (const [c, id] of ids.entries()) wide[13 + c * BUCKETS + (Math.imul(id + 1, 0x9e3779b1) >>> 28)] = 1
      return wide
    },
  }
  return named[slot.name]?.() ?? [key(Number(slot.name), ids[Number(slot.name) - 1]!)]
}

function fill(samples: readonly Sample[], slots: readonly Slot[]): ParsedChunk {
  const sparse = slots.filter(({ kind }) => kind === 'sparse')
  const counts = new Uint32Array(new SharedArrayBuffer(4 * samples.length * sparse.length))
  const starts = new Uint32Array(new SharedArrayBuffer(4 * (samples.length + 1)))
  const signs: bigint[] = []
  for (const [i, sample] of samples.entries()) {
    for (const [s, slot] of sparse.entries()) {
      const values = valuesOf(slot, sample)
      counts[i * sparse.length + s] = values.length
      for (const value of values) signs.push(BigInt(value))
    }
    starts[i + 1] = signs.length
  }
  const dense = slots.flatMap((slot) => {
    if (slot.kind === 'sparse') return []
    const length = samples.length * slot.width
    const values =
      slot.dtype === 'int64'
        ? new BigInt64Array(new SharedArrayBuffer(8 * length))
        : new Float32Array(new SharedArrayBuffer(4 * length))
    for (const [i, sample] of samples.entries())
      for (const [d, value] of valuesOf(slot, sample).entries())
        values[i * slot.width + d] = (slot.dtype === 'int64' ? BigInt(value) : value) as never
    return [values]
  })
  const shared = new BigUint64Array(new SharedArrayBuffer(8 * signs.length))
  for (const [i, sign] of signs.entries()) shared[i] = sign
  return { samples: samples.length, counts, starts, signs: shared, dense }
}
