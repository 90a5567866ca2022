/** @file Rows that threads keep for some batches: servers are asked for less, get every gradient once, and no row is older than was said. */
import { expect, test } from 'vitest'
import { createRng } from '../../src/base/util/index.ts'
import { type Feeds, optimizer } from '../../src/index.ts'
import { traceModel } from '../../src/model/index.ts'
import * as nn from '../../src/nn.ts'
import { concat, mean, type Tensor } from '../../src/nn.ts'
import {
  HotRowsParams,
  KernelStore,
  METHODS,
  ParameterServer,
  RecentRows,
  RemoteParams,
  SignPlaces,
  updatesOf,
} from '../../src/training/ps/index.ts'
import { type BatchParams, denseLayout, type Params } from '../../src/weights/params/index.ts'
import { SignMerger } from '../../src/weights/table/index.ts'

const SEGMENTS = 2
const SGD = optimizer.sgd({ learningRate: 0.5 })
const PLACEMENT = { servers: 2, shards: 10 }

/** Two tables that look up the same, one of its own. */
const { train: PROGRAM } = traceModel({
  createFeeds: ({ sparse }: Feeds) => ({ a: sparse('a'), b: sparse('b') }),
  net({ a, b }: { a: nn.SparseSlot; b: nn.SparseSlot }) {
    const rows = [
      nn.embedding([a], { name: 'wide', dim: 5 }),
      nn.embedding([a], { name: 'narrow', dim: 1 }),
      nn.embedding([b], { name: 'other', dim: 3 }),
    ]
    return { loss: mean(nn.linear(concat(rows, 1) as Tensor, { name: 'w', out: 2 })) }
  },
  createOptimizer: () => SGD,
} as never)
const LAYOUT = denseLayout(PROGRAM, SGD)
const DIMS = PROGRAM.tables.map(({ dim }) => dim)

function openServers() {
  const half = Math.floor(LAYOUT.floats / 2)
  const slices = [
    { from: 0, to: half },
    { from: half, to: LAYOUT.floats },
  ]
  const stores = slices.map(
    (slice) => new KernelStore({ program: PROGRAM, optimizer: SGD, seed: 1, segments: SEGMENTS, slice }),
  )
  const servers = stores.map((store) => new ParameterServer({ store, mode: 'async', workers: 1, threads: 1 }))
  const sent = { bytes: 0 }
  const remote = new RemoteParams({
    ...{ thread: 0, segments: SEGMENTS, slices, ahead: true },
    call: async (server, method, parts, _, read) => {
      const body = new Uint8Array(Buffer.concat(parts))
      sent.bytes += body.byteLength
      return read(new Uint8Array(Buffer.concat(await servers[server]!.handle(0, method, body))))
    },
  })
  const leave = async () => {
    for (const server of servers) await server.handle(0, METHODS.leave, new Uint8Array(0))
  }
  const row = (table: number, sign: bigint) => {
    const own = stores.flatMap((store) => store.row(table, sign) ?? [])
    if (own.length !== 1) throw new Error(`${own.length} servers have sign ${sign} of table ${table}`)
    // First values are no whole numbers: sums differ in the last places.
    return [...new Float32Array(own[0]!.buffer, 0, DIMS[table]!)].map((value) => value.toFixed(3))
  }
  return { remote, sent, leave, row, steps: () => stores.map(({ steps }) => steps), rows: stores }
}

/** Whole numbers as gradients: sums of them are the same in any order. */
function* batches(count: number): Generator<BatchParams> {
  const random = createRng(2n)
  const mergers = [new SignMerger(SEGMENTS, PLACEMENT), new SignMerger(SEGMENTS, PLACEMENT)]
  for (let i = 0; i < count; i++) {
    const [a, b] = mergers.map((merger) => {
      const draws = Array.from({ length: 300 }, () => BigInt(Math.floor(5000 * random.uniform() ** 6)) * 7n)
      return merger.distinct([BigUint64Array.of(3n, ...draws)])
    })
    const whole = (n: number) => Float32Array.from({ length: n }, () => random.below(9) - 4)
    yield {
      samples: 10,
      tables: [a!, a!, b!].map((distinct, table) => {
        const floats = distinct.signs.length * DIMS[table]!
        return { table, distinct, rows: new Float32Array(floats), gradients: whole(floats) }
      }),
      weights: new Float32Array(LAYOUT.floats),
      gradients: whole(LAYOUT.floats),
    }
  }
}

/** The next batch is asked for before the gradients of the one before are sent, as trainer threads do. */
async function train(params: Params, all: Iterable<BatchParams>, seen: (batch: BatchParams) => void = () => {}) {
  let waiting: BatchParams | undefined
  for (const batch of all) {
    const pulled = params.pull(batch, true)
    if (waiting) await params.push(waiting)
    await pulled
    await params.refresh?.(batch)
    seen(batch)
    waiting = batch
  }
  await params.push(waiting!)
  await params.flush()
}

test('servers end with the rows of a job that keeps none, after as many steps, and are sent less', async () => {
  const [plain, kept] = [openServers(), openServers()]
  const count = 50
  await train(plain.remote, batches(count))
  await train(new HotRowsParams(kept.remote, { rows: 200, batches: 6, dims: DIMS }), batches(count))
  await plain.leave()
  await kept.leave()
  expect(kept.steps()).toEqual(plain.steps())
  expect(plain.steps()).toEqual([count, count])
  let rows = 0
  for (const { tables } of batches(count)) {
    for (const { table, distinct } of tables) {
      for (const sign of distinct.signs) {
        expect(kept.row(table, sign)).toEqual(plain.row(table, sign))
        rows++
      }
    }
  }
  expect(rows).toBeGreaterThan(5000)
  expect(kept.sent.bytes).toBeLessThan(0.95 * plain.sent.bytes)
})

test('a row of every batch is at most so many batches old', async () => {
  const { remote } = openServers()
  const [first, ages]: [number[], number[]] = [[], []]
  const every = 4
  let [index, sum] = [0, 0]
  const sums: number[] = []
  await train(new HotRowsParams(remote, { rows: 500, batches: every, dims: DIMS }), batches(40), ({ tables }) => {
    const { distinct, rows, gradients } = tables[1]!
    const at = distinct.signs.indexOf(3n)
    first.push(rows[at]!)
    // What the row would be if the servers had every gradient before this batch.
    sums.push(first[0]! - 0.5 * sum)
    sum += gradients[at]!
    const age = sums.findLastIndex((value) => Math.abs(value - rows[at]!) < 1e-5)
    ages.push(index - age)
    index++
  })
  expect(Math.max(...ages.slice(1))).toBeGreaterThan(1)
  // One batch more: it was asked for before the one before was pushed.
  expect(Math.max(...ages)).toBeLessThanOrEqual(every + 2)
})

test('a batch that was parted before rows were forgotten keeps its gradients', () => {
  const recent = new RecentRows([2], 10)
  const distinct = { signs: BigUint64Array.of(4n, 9n), lengths: Uint32Array.of(1, 1) }
  const rows = [new Float32Array(4)]
  expect(recent.part(distinct, rows).keptAt).toEqual(Int32Array.of(-1, -1)) // they might come once
  recent.take(recent.part(distinct, rows), [Float32Array.of(1, 2, 3, 4)], rows)
  expect([...rows[0]!]).toEqual([1, 2, 3, 4])
  const again = recent.part(distinct, rows)
  expect([...again.here]).toEqual([0, 1])
  recent.sumUp(2)
  recent.give(again, [Float32Array.of(5, 6, 7, 8)], [new Float32Array(0)])
  const { distinct: summed, gradients } = recent.sumUp(2)
  expect([...summed.signs]).toEqual([4n, 9n])
  expect([...gradients[0]!]).toEqual([5, 6, 7, 8])
  expect(recent.sumUp(2).distinct.signs.length).toBe(0)
})

test('signs that differ in either half have places of their own', () => {
  const places = new SignPlaces(1000)
  for (let i = 0; i < 500; i++) {
    expect(places.add(i, 7)).toBe(2 * i)
    expect(places.add(7, 1000 + i)).toBe(2 * i + 1)
  }
  for (let i = 0; i < 500; i++) expect([places.find(i, 7), places.find(7, 1000 + i)]).toEqual([2 * i, 2 * i + 1])
  expect(places.find(3, 8)).toBe(-1)
  places.clear()
  expect(places.find(3, 7)).toBe(-1)
})

test('a row whose gradients of several batches were added up gets an update for each of them', () => {
  const groups = [{ signs: BigUint64Array.of(1n, 2n, 3n), lengths: Uint32Array.of(1, 2) }]
  const showClick = [Float32Array.of(0, 1, 0, 0, 3, 0, 0, 2, 0)]
  const rounds = [...updatesOf({ groups, tableGroups: [0], gradients: [Float32Array.of(5, 5, 6, 9, 4, 8)], showClick })]
  expect(
    rounds.map(({ groups: [own], gradients }) => [[...own!.signs], [...own!.lengths], [...gradients[0]!]]),
  ).toEqual([
    [
      [1n, 2n, 3n],
      [1, 2],
      [5, 5, 2, 3, 2, 4],
    ],
    [
      [2n, 3n],
      [0, 2],
      [2, 3, 2, 4],
    ],
    [[2n], [0, 1], [2, 3]],
  ])
})
