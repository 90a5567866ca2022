/**
 * @file An approximate index: items in lists around centres, of which a search looks into the nearest few. How many is not guessed: as many as
 * find the wanted share of the true neighbours of some queries.
 */
import {
  createVectors,
  NearestKernel,
  type Queries,
  type RowRange,
  setVectors,
  type VectorMemory,
} from '../../base/kernel/index.ts'
import { createRng } from '../../base/util/index.ts'

/** Lists of items: list `i` holds rows [offsets[i], offsets[i + 1]). */
export interface Lists {
  /** One centre a list. */
  readonly centres: VectorMemory
  readonly offsets: ArrayLike<number>
}

const ROUNDS = 8
/** Vectors a list that centres are found with. */
const SAMPLES = 64
const BATCH = 256
const SEED = 1n

/** Centres of `data` by k-means, and the list of each vector. As many lists as the root of the vectors: both looks of a search are short then. */
export function makeLists(
  data: Float32Array,
  dim: number,
): { readonly centres: Float32Array; readonly lists: Uint32Array } {
  const count = data.length / dim
  const wanted = Math.max(1, Math.round(Math.sqrt(count)))
  const random = createRng(SEED)
  const order = shuffled(count, random)
  const sample = order.subarray(0, Math.min(count, SAMPLES * wanted))
  const rowOf = (row: number) => data.subarray(row * dim, (row + 1) * dim)
  const centres = new Float32Array(wanted * dim)
  for (let i = 0; i < wanted; i++) centres.set(rowOf(order[i]!), i * dim)
  for (let round = 0; round < ROUNDS; round++) {
    const own = nearestCentres(centres, dim, sample, rowOf)
    const sums = new Float64Array(centres.length)
    const sizes = new Uint32Array(wanted)
    sample.forEach((row, i) => {
      const vector = rowOf(row)
      for (let j = 0; j < dim; j++) sums[own[i]! * dim + j]! += vector[j]!
      sizes[own[i]!]!++
    })
    for (let list = 0; list < wanted; list++) {
      // One that nobody is nearest to begins anew at some vector.
      if (sizes[list] === 0) centres.set(rowOf(sample[random.below(sample.length)]!), list * dim)
      else for (let j = 0; j < dim; j++) centres[list * dim + j] = sums[list * dim + j]! / sizes[list]!
    }
  }
  return {
    centres,
    lists: nearestCentres(
      centres,
      dim,
      Uint32Array.from({ length: count }, (_, i) => i),
      rowOf,
    ),
  }
}

/** By distance: |x - c|^2 is least where x c - |c|^2 / 2 is most, an inner product of vectors that are one longer. */
function nearestCentres(
  centres: Float32Array,
  dim: number,
  rows: Uint32Array,
  rowOf: (row: number) => Float32Array,
): Uint32Array {
  const lists = centres.length / dim
  const longer = createVectors(lists, dim + 1)
  for (let list = 0; list < lists; list++) {
    const centre = centres.subarray(list * dim, (list + 1) * dim)
    const half = centre.reduce((sum, value) => sum + value * value, 0) / 2
    setVectors(longer, list, Float32Array.of(...centre, -half))
  }
  const kernel = new NearestKernel(longer)
  const found = new Uint32Array(rows.length)
  const queries = new Float32Array(BATCH * (dim + 1))
  for (let from = 0; from < rows.length; from += BATCH) {
    const n = Math.min(BATCH, rows.length - from)
    for (let i = 0; i < n; i++) {
      queries.set(rowOf(rows[from + i]!), i * (dim + 1))
      queries[i * (dim + 1) + dim] = 1
    }
    const nearest = kernel.search({ data: queries.subarray(0, n * (dim + 1)) }, 1)
    nearest.forEach((own, i) => {
      found[from + i] = own.rows[0] ?? 0 // a vector that is no number is in the first list
    })
  }
  return found
}

function shuffled(count: number, random: ReturnType<typeof createRng>): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const kept = order[i]!
    order[i] = order[j]!
    order[j] = kept
  }
  return order
}

/** The rows of the lists that each query looks into: the nearest `probes`, and more where these hold fewer than `least` rows. */
export function probedRanges(
  { offsets }: Lists,
  centres: NearestKernel,
  queries: Queries,
  probes: number,
  least: number,
): RowRange[][] {
  const lists = offsets.length - 1
  return centres.search(queries, lists).map(({ rows }) => {
    const ranges: RowRange[] = []
    let held = 0
    for (const list of rows) {
      if (ranges.length >= probes && held >= least) break
      const range = [offsets[list]!, offsets[list + 1]!] as const
      ranges.push(range)
      held += range[1] - range[0]
    }
    return ranges
  })
}

export const RECALL_AT = 50

/** The fewest probes that find `wanted` of the 50 nearest on the mean of the queries, and what share they find. */
export function calibrate(
  vectors: VectorMemory,
  lists: Lists,
  queries: Queries,
  wanted: number,
): { readonly probes: number; readonly recall: number } {
  const [kernel, centres] = [new NearestKernel(vectors), new NearestKernel(lists.centres)]
  const truth = kernel.search(queries, RECALL_AT).map(({ rows }) => new Set(rows))
  const recallAt = (probes: number) => {
    const found = kernel.search(queries, RECALL_AT, probedRanges(lists, centres, queries, probes, 0))
    const shares = found.map(
      ({ rows }, i) => rows.filter((row) => truth[i]!.has(row)).length / Math.max(1, truth[i]!.size),
    )
    return shares.reduce((sum, share) => sum + share, 0) / Math.max(1, shares.length)
  }
  const most = lists.offsets.length - 1
  // The least power of two that is enough, then between it and the one before.
  let high = 1
  while (high < most && recallAt(high) < wanted) high = Math.min(most, 2 * high)
  let low = high === 1 ? 0 : high >> 1
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (recallAt(middle) < wanted) low = middle
    else high = middle
  }
  return { probes: high, recall: recallAt(high) }
}
