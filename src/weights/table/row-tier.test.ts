/** @file A table within a memory limit: not a bit of any row differs from those of a table without one. */
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRng, type Rng } from '../../base/util/index.ts'
import { optimizer, stepFactors } from '../optim/index.ts'
import {
  type AccessorConfig,
  copyRows,
  createTable,
  type DistinctSigns,
  digestRows,
  SAVE_MODES,
  SignMerger,
  SparseTable,
  type TableOptions,
  type TierOptions,
  tableAccessor,
} from './index.ts'
import { rowCapacity } from './row-tier-limits.ts'

let folder: string
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'row-tier-')), 'rows')
})
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }))

const SEGMENTS = 2
const DIM = 4
const MEGABYTE = 2 ** 20
const adam = (lazy: boolean) => optimizer.adam({ learningRate: 0.01, lazy })

function table(changes: Partial<TableOptions> = {}): SparseTable {
  const init = { kind: 'uniform', low: -1, high: 1 } as const
  return new SparseTable(
    createTable({ name: 'embedding', dim: DIM, init, optimizer: adam(true), seed: 1, segments: SEGMENTS, ...changes }),
    0,
  )
}

function tiered(changes: Partial<TableOptions> = {}, tier: Partial<TierOptions> = {}): SparseTable {
  const made = table(changes)
  made.openTier({ memoryLimitBytes: 8 * MEGABYTE, folder, eviction: 'lru', ...tier })
  return made
}

const digest = (of: SparseTable) => {
  const hash = createHash('sha256')
  digestRows(copyRows(of), hash)
  return hash.digest('hex')
}

/** Ids with a long tail: half of the draws among a hundredth of them. */
function batch(random: Rng, merger: SignMerger, size = 1200, universe = 60_000): DistinctSigns {
  const draws = BigUint64Array.from({ length: size }, () => BigInt(Math.floor(universe * random.uniform() ** 4)))
  return merger.distinct([draws])
}

function train(tables: readonly SparseTable[], steps: number, lazy: boolean, seed = 3n): void {
  const [random, merger] = [createRng(seed), new SignMerger(SEGMENTS)]
  for (let step = 1; step <= steps; step++) {
    const distinct = batch(random, merger)
    const size = distinct.signs.length * DIM
    const gradients = Float32Array.from({ length: size }, () => random.normal())
    const factors = stepFactors(adam(lazy), step)
    const pulled = tables.map((one) => {
      const rows = new Float32Array(size)
      one.lookup(distinct, rows, true, factors)
      one.update(distinct, gradients, factors)
      return rows
    })
    for (const rows of pulled)
      if (Buffer.compare(bytes(rows), bytes(pulled[0]!)) !== 0) throw new Error(`step ${step}: other rows`)
  }
}

const bytes = ({ buffer, byteOffset, byteLength }: Float32Array) => new Uint8Array(buffer, byteOffset, byteLength)

test.each([true, false])(
  'rows that went to the disk and came back are the same, bit by bit (lazy Adam: %s)',
  async (lazy) => {
    const [plain, small] = [table({ optimizer: adam(lazy) }), tiered({ optimizer: adam(lazy) })]
    train([plain, small], 150, lazy)
    const { evicted, misses, diskRows, memoryRows, memoryBytes, lost } = small.tier!.stats
    expect(misses).toBeGreaterThan(1000)
    expect(evicted).toBeGreaterThan(misses)
    expect(lost).toBe(0)
    expect(small.rowCount).toBe(plain.rowCount)
    expect(memoryRows + diskRows).toBe(plain.rowCount)
    expect(memoryBytes).toBeLessThan(8.4 * MEGABYTE)
    expect(digest(small)).toBe(digest(plain))
    await small.tier!.close()
    expect(existsSync(folder)).toBe(false)
  },
)

test('rows of bfloat16 weights that went to the disk and came back are the same, and take less of it', async () => {
  const precision = 'bfloat16'
  const [plain, small, wide] = [table({ precision }), tiered({ precision }), table()]
  train([plain, small], 150, true)
  expect(small.tier!.stats.misses).toBeGreaterThan(500)
  expect(small.tier!.stats.diskRows).toBeGreaterThan(1000)
  expect(digest(small)).toBe(digest(plain))
  expect(small.rowBytes).toBe(wide.rowBytes - 2 * DIM)
  const again = table({ precision })
  for (const { signs, rows } of copyRows(small)) again.load(signs, rows)
  train([again, small], 20, true, 9n)
  expect(digest(again)).toBe(digest(small))
  await small.tier!.close()
})

test('rows are loaded past the limit, over those that are there', async () => {
  const [from, small] = [table(), tiered()]
  train([from], 150, true)
  for (let again = 0; again < 2; again++) {
    for (const { signs, rows } of copyRows(from)) small.load(signs, rows)
    expect(small.rowCount).toBe(from.rowCount)
    expect(digest(small)).toBe(digest(from))
  }
  train([from, small], 20, true, 9n)
  expect(digest(small)).toBe(digest(from))
  expect(small.tier!.stats.diskRows).toBeGreaterThan(1000)
  small.clear()
  expect(small.rowCount).toBe(0)
  await small.tier!.close()
})

test('rows that are new go past a full memory to the disk', async () => {
  const [from, small] = [table(), tiered()]
  train([from], 150, true)
  const blocks = copyRows(from)
  const zeros = blocks.map(({ signs, rows }) => ({ signs, rows: new Uint8Array(rows.length) }))
  for (const { signs, rows } of zeros) small.load(signs, rows, true)
  expect(small.rowCount).toBe(from.rowCount)
  expect(small.tier!.stats).toMatchObject({ evicted: 0, misses: 0, readBytes: 0 })
  expect(small.tier!.stats.diskRows).toBeGreaterThan(1000)
  for (const { signs, rows } of blocks) small.load(signs, rows)
  expect(small.rowCount).toBe(from.rowCount)
  expect(digest(small)).toBe(digest(from))
  train([from, small], 20, true, 9n)
  expect(digest(small)).toBe(digest(from))
  await small.tier!.close()
})

test('filters that outgrow their share are taken off what rows may have', () => {
  const own = { rowBytes: 100, filterBytes: 10_000, tableBytes: 1_000_000, most: 2000, used: 300_000 }
  const rows = rowCapacity({ ...own, indexBytes: 10_000 })
  expect(rowCapacity({ ...own, indexBytes: 0 })).toBe(rows)
  expect(rowCapacity({ ...own, indexBytes: 310_000 })).toBe(rows - Math.ceil((0.98 * 300_000) / 144))
  expect(rowCapacity({ ...own, indexBytes: 5_000_000 })).toBe(0)
})

test('a batch under way keeps its rows; one that finds no room waits for it, and is refused when there is nothing to wait for', async () => {
  const small = tiered()
  const merger = new SignMerger(SEGMENTS)
  const { tier } = small
  const part = (first: number, n: number) =>
    merger.distinct([BigUint64Array.from({ length: n }, (_, i) => BigInt(first + i))])
  let first = 0
  const one = tier!.begin()
  for (; ; first += 1000) {
    if (!tier!.bring(part(first, 1000), one)) break
    // As a trainer thread makes its rows.
    const other = small.tier!.stats.memoryRows
    if (first > 10_000_000) throw new Error(`${other} rows and no end`)
    make(small, part(first, 1000))
    if (first === 3000) break
  }
  const two = tier!.begin()
  let fits = true
  for (first = 100_000; fits && first < 10_000_000; first += 1000) {
    fits = tier!.bring(part(first, 1000), two)
    if (fits) make(small, part(first, 1000))
  }
  expect(fits).toBe(false)
  tier!.end(one)
  expect(tier!.bring(part(first, 1000), two)).toBe(true)
  const fill = () => {
    for (; ; first += 1000) {
      tier!.bring(part(first, 1000), two)
      make(small, part(first, 1000))
    }
  }
  expect(fill).toThrow(
    expect.objectContaining({ code: 'TABLE_MEMORY_LIMIT', message: expect.stringMatching(/\d+ MB are needed/) }),
  )
  await tier!.close()
})

/** Makes rows as another thread does: without asking the tier. */
function make(of: SparseTable, distinct: DistinctSigns): void {
  const rows = new Float32Array(distinct.signs.length * DIM)
  plainLookup.call(of, distinct, rows)
}
function plainLookup(this: SparseTable, distinct: DistinctSigns, rows: Float32Array): void {
  // The table's own lookup brings rows first, which is what `bring` has done already: the rows then are this batch's.
  this.lookup(distinct, rows, true, stepFactors(adam(true), 1))
}

test('without a disk the rows wanted least are given up and counted', async () => {
  const small = tiered({}, { folder: undefined, memoryLimitBytes: 3 * MEGABYTE })
  train([small], 150, true)
  const { lost, evicted, memoryBytes, diskRows } = small.tier!.stats
  expect(lost).toBeGreaterThan(1000)
  expect(evicted).toBe(lost)
  expect(diskRows).toBe(0)
  expect(memoryBytes).toBeLessThan(3.2 * MEGABYTE)
  await small.tier!.close()
})

const spec = { name: 'embedding', dim: DIM, init: { kind: 'constant', value: 0 } } as never

function accessorOf(entry?: string): AccessorConfig {
  const ctr_accessor_param = {
    show_click_decay_rate: 0.9,
    delete_threshold: 0.3,
    delete_after_unseen_days: 3,
    delta_threshold: 1,
  }
  const accessor = { accessor_class: 'SparseAccessor', embedx_dim: 3, embedx_threshold: 2, ctr_accessor_param } as const
  return tableAccessor({ table: spec, optimizer: adam(true), parameters: { accessor, ...(entry ? { entry } : {}) } })!
}

test.each(['lru', 'score', 'unseen_days'] as const)(
  'rows of accessors fade, are settled and saved on the disk too (%s)',
  async (eviction) => {
    const accessor = accessorOf(eviction === 'score' ? 'probability_entry:0.5' : undefined)
    const [plain, small] = [table({ accessor }), tiered({ accessor }, { eviction })]
    const [random, merger] = [createRng(5n), new SignMerger(SEGMENTS)]
    for (let step = 1; step <= 160; step++) {
      const distinct = batch(random, merger)
      const n = distinct.signs.length
      const gradients = Float32Array.from({ length: n * DIM }, () => random.normal())
      const showClick = Float32Array.from({ length: n * 3 }, (_, i) =>
        i % 3 === 0 ? 1 : i % 3 === 1 ? 1 : random.below(2),
      )
      for (const one of [plain, small]) {
        one.lookup(distinct, new Float32Array(n * DIM), true)
        one.push(distinct, { gradients, showClick, samples: 100, step })
      }
      if (step % 40 === 0) expect(small.shrink()).toBe(plain.shrink())
      if (step % 50 === 0) for (const one of [plain, small]) one.settle(SAVE_MODES.delta)
    }
    expect(small.tier!.stats.diskRows).toBeGreaterThan(1000)
    expect(small.rowCount).toBe(plain.rowCount)
    const saved = (one: SparseTable, mode: 0 | 1 | 2) => {
      const all: bigint[] = []
      for (const { signs } of one.scan(mode)) all.push(...signs)
      return BigUint64Array.from(all).sort()
    }
    for (const mode of [0, 1, 2] as const)
      expect(Buffer.compare(Buffer.from(saved(small, mode).buffer), Buffer.from(saved(plain, mode).buffer))).toBe(0)
    expect(digest(small)).toBe(digest(plain))
    await small.tier!.close()
  },
)

test('a tier leaves nothing behind but its folder, and closing removes that', async () => {
  const small = tiered()
  train([small], 100, true)
  expect(readdirSync(folder)).toContain('tier.json')
  await small.tier!.close()
  expect(existsSync(folder)).toBe(false)
})
