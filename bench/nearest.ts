/**
 * @file Nearest items: our exact scan and our lists beside libraries that install without scripts. `nearest.ts ITEMS [FOLDER]`
 *
 * FOLDER has a node_modules with the libraries: `npm install --ignore-scripts usearch edgevec` there; those that are missing are left out.
 * Vectors are 64 wide, around 500 centres, as long as they come: an inner product, not a cosine. Prints a line of JSON for each.
 */
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createVectors, NearestKernel, setVectors } from '../src/base/kernel/index.ts'
import { createRng } from '../src/base/util/index.ts'
import { calibrate, makeLists, probedRanges } from '../src/inference/recall/lists.ts'

const [count, DIM, QUERIES, K, CENTRES] = [Number(process.argv[2] ?? 24_000), 64, 200, 50, 500]
const from = process.argv[3]
const random = createRng(7n)
const normal = () =>
  Math.sqrt(-2 * Math.log(1 - random.below(1 << 30) / 2 ** 30)) *
  Math.cos((2 * Math.PI * random.below(1 << 30)) / 2 ** 30)
const centres = Float32Array.from({ length: CENTRES * DIM }, normal)

function draw(n: number): Float32Array {
  const data = new Float32Array(n * DIM)
  for (let i = 0; i < n; i++) {
    const own = random.below(CENTRES) * DIM
    for (let j = 0; j < DIM; j++) data[i * DIM + j] = centres[own + j]! + 0.7 * normal()
  }
  return data
}

const [items, queries] = [draw(count), draw(QUERIES)]
const queryAt = (i: number) => queries.subarray(i * DIM, (i + 1) * DIM)
const vectors = createVectors(count, DIM)
setVectors(vectors, 0, items)
const kernel = new NearestKernel(vectors)
const truth = kernel.search({ data: queries }, K).map(({ rows }) => new Set(rows))

type Search = (query: Float32Array) => ArrayLike<number | bigint>

/** One query at a time, as requests come. */
function report(name: string, buildSeconds: number, search: Search, more: object = {}): void {
  for (let i = 0; i < 20; i++) search(queryAt(i))
  const started = performance.now()
  const found = Array.from({ length: QUERIES }, (_, i) => search(queryAt(i)))
  const ms = (performance.now() - started) / QUERIES
  const hits = found.reduce(
    (sum, rows, i) => sum + Array.from(rows, Number).filter((row) => truth[i]!.has(row)).length,
    0,
  )
  const recall = Number((hits / (K * QUERIES)).toFixed(4))
  console.log(
    JSON.stringify({
      name,
      items: count,
      'recall@50': recall,
      msPerQuery: Number(ms.toFixed(3)),
      buildSeconds: Number(buildSeconds.toFixed(1)),
      ...more,
    }),
  )
}

const timed = <T>(work: () => T): [T, number] => {
  const started = performance.now()
  const result = work()
  return [result, (performance.now() - started) / 1000]
}

report('exact scan', 0, (query) => kernel.search({ data: query }, K)[0]!.rows)

const [listed, buildSeconds] = timed(() => {
  const made = makeLists(items, DIM)
  const lists = made.centres.length / DIM
  const order = Uint32Array.from({ length: count }, (_, i) => i).sort(
    (a, b) => made.lists[a]! - made.lists[b]! || a - b,
  )
  const offsets = new Uint32Array(lists + 1)
  for (const list of made.lists) offsets[list + 1]!++
  for (let list = 0; list < lists; list++) offsets[list + 1]! += offsets[list]!
  const [own, middle] = [createVectors(count, DIM), createVectors(lists, DIM)]
  order.forEach((row, place) => {
    setVectors(own, place, items.subarray(row * DIM, (row + 1) * DIM))
  })
  setVectors(middle, 0, made.centres)
  return { order, own, lists: { centres: middle, offsets } }
})
const [inLists, byCentre] = [new NearestKernel(listed.own), new NearestKernel(listed.lists.centres)]
const asked = draw(256) // others than those that are measured
for (const wanted of [0.95, 0.99]) {
  const { probes } = calibrate(listed.own, listed.lists, { data: asked }, wanted)
  const search: Search = (query) => {
    const ranges = probedRanges(listed.lists, byCentre, { data: query }, probes, 2 * K)
    return inLists.search({ data: query }, K, ranges)[0]!.rows.map((row) => listed.order[row]!)
  }
  report(`lists, for ${wanted}`, buildSeconds, search, { probes, lists: listed.lists.offsets.length - 1 })
}

if (from !== undefined) {
  const load = async (name: string) => {
    const path = createRequire(join(resolve(from), 'x.js')).resolve(name)
    return await import(pathToFileURL(path).href)
  }
  const usearch = await load('usearch').catch(() => undefined)
  for (const expansion of usearch ? [64, 256] : []) {
    const { Index, MetricKind, ScalarKind } = usearch.default ?? usearch
    const [index, seconds] = timed(() => {
      const made = new Index({
        metric: MetricKind.IP,
        dimensions: DIM,
        connectivity: 16,
        quantization: ScalarKind.F32,
        expansion_search: expansion,
      })
      made.add(
        BigUint64Array.from({ length: count }, (_, i) => BigInt(i)),
        items,
        1,
      )
      return made
    })
    report(`usearch, expansion ${expansion}`, seconds, (query) => index.search(query, K, 1).keys)
  }
}
