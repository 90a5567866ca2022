/** @file Rows that are asked for batches ahead are there when their batch is trained, and are the same bit by bit. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRng } from '../../base/util/index.ts'
import { optimizer, stepFactors } from '../optim/index.ts'
import { copyRows, createTable, type DistinctSigns, digestRows, SignMerger, SparseTable } from './index.ts'
import { SignsUnderWay } from './signs-under-way.ts'

let folder: string
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'row-tier-')), 'rows')
})
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }))

const [SEGMENTS, DIM, AHEAD] = [2, 4, 5]
const adam = optimizer.adam({ learningRate: 0.01 })

/** The table of the thread that keeps rows, and the same as a trainer thread has it, which never asks the tier. */
function table(limit?: number): { keeper: SparseTable; trainer: SparseTable } {
  const init = { kind: 'uniform', low: -1, high: 1 } as const
  const handle = createTable({ name: 'embedding', dim: DIM, init, optimizer: adam, seed: 1, segments: SEGMENTS })
  const keeper = new SparseTable(handle, 0)
  if (limit !== undefined) keeper.openTier({ memoryLimitBytes: limit, folder, eviction: 'lru', ahead: true })
  return { keeper, trainer: new SparseTable(handle, 1) }
}

const digest = (of: SparseTable) => {
  const hash = createHash('sha256')
  digestRows(copyRows(of), hash)
  return hash.digest('hex')
}

function* batches(count: number): Generator<DistinctSigns> {
  const [random, merger] = [createRng(3n), new SignMerger(SEGMENTS)]
  for (let i = 0; i < count; i++) {
    const draws = BigUint64Array.from({ length: 1200 }, () => BigInt(Math.floor(60_000 * random.uniform() ** 4)))
    const { signs, lengths } = merger.distinct([draws])
    yield { signs: signs.slice(), lengths: lengths.slice() }
  }
}

function step(of: SparseTable, distinct: DistinctSigns, number: number): void {
  const rows = new Float32Array(distinct.signs.length * DIM)
  const factors = stepFactors(adam, number)
  of.lookup(distinct, rows, true, factors)
  of.update(
    distinct,
    rows.map((value) => value / 7 + 0.01),
    factors,
  )
}

test('batches under way that want the same rows get them once, and train as in memory', async () => {
  const [plain, small] = [table(), table(8 * 2 ** 20)]
  const tier = small.keeper.tier!
  const waiting: { readonly distinct: DistinctSigns; readonly tick: number; readonly ready: Promise<void> }[] = []
  let number = 0
  const trainOne = async () => {
    const { distinct, tick, ready } = waiting.shift()!
    await ready
    number++
    step(plain.trainer, distinct, number)
    step(small.trainer, distinct, number)
    tier.end(tick)
  }
  for (const distinct of batches(250)) {
    const tick = tier.begin()
    while (!tier.ask(distinct, tick)) await trainOne()
    waiting.push({ distinct, tick, ready: tier.arrived() })
    if (waiting.length > AHEAD) await trainOne()
    // A save passes over the disk while rows are on their way.
    if (number === 120) expect(digest(small.keeper)).toBe(digest(plain.keeper))
  }
  while (waiting.length > 0) await trainOne()
  const { misses, evicted, memoryRows, diskRows } = tier.stats
  expect(misses).toBeGreaterThan(1000)
  expect(evicted).toBeGreaterThan(misses)
  expect(memoryRows + diskRows).toBe(plain.keeper.rowCount)
  expect(digest(small.keeper)).toBe(digest(plain.keeper))
  await tier.close()
})

test('a disk that cannot be read is said to whoever waits for its rows', async () => {
  const { keeper, trainer } = table(8 * 2 ** 20)
  const tier = keeper.tier!
  const wanted: DistinctSigns[] = []
  for (const distinct of batches(200)) {
    wanted.push(distinct)
    keeper.tier!.ensure(distinct)
    step(trainer, distinct, 1)
  }
  expect(tier.stats.diskRows).toBeGreaterThan(1000)
  for (const name of await readdir(folder)) if (name.startsWith('run-')) truncateSync(join(folder, name), 0)
  const ask = async () => {
    for (const distinct of wanted) {
      const tick = tier.begin()
      tier.ask(distinct, tick)
      await tier.arrived()
      tier.end(tick)
    }
  }
  await expect(ask()).rejects.toMatchObject({ code: 'TIER_DISK' })
  await tier.close()
})

test('a sign is asked for again once its request is over, and not before', () => {
  const asked = new SignsUnderWay()
  const of = (first: number, count: number) => BigUint64Array.from({ length: count }, (_, i) => BigInt(first + i))
  expect(asked.admit(of(0, 3000), 1).length).toBe(3000)
  expect(asked.admit(of(2000, 3000), 2)).toEqual(of(3000, 2000)) // grows
  expect(asked.admit(of(0, 5000), 3).length).toBe(0)
  asked.over(1)
  expect(asked.admit(of(0, 5000), 4)).toEqual(of(0, 3000))
  asked.over(4)
  for (let number = 5; number < 60; number++) {
    expect(asked.admit(of(0, 4000), number).length).toBe(4000)
    asked.over(number)
  }
  expect(asked.admit(BigUint64Array.of(2n ** 64n - 1n, 0n, 2n ** 32n), 99).length).toBe(3)
})
