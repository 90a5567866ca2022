import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { deriveSeed, GOLDEN, mix64 } from '../../base/util/index.ts'
import { kernelRule, type OptimizerSpec, optimizer, stepFactors } from '../optim/index.ts'
import { applyReference, type Cell } from '../optim/reference.testing.ts'
import { copyRows, digestRows } from './digest.ts'
import { createTable, type DistinctSigns, emptyTableLike, SparseTable, type TableOptions } from './table.ts'

const DIM = 5
const options = (over: Partial<TableOptions> = {}): TableOptions => ({
  name: 'emb',
  dim: DIM,
  init: { kind: 'uniform', low: -1, high: 1 },
  optimizer: optimizer.sgd({ learningRate: 0.1 }),
  seed: 7,
  segments: 1,
  ...over,
})

/** Groups signs by segment as the workspace kernel does: by the top bits of the mixed sign. */
function group(signs: readonly bigint[], segments: number): DistinctSigns {
  const segmentOf = (sign: bigint) => Number((mix64(sign) >> 1n) >> (63n - BigInt(Math.log2(segments))))
  const groups = Array.from({ length: segments }, (_, s) => signs.filter((sign) => segmentOf(sign) === s))
  return { signs: BigUint64Array.from(groups.flat()), lengths: Uint32Array.from(groups.map((g) => g.length)) }
}

const weightsOf = (table: SparseTable, sign: bigint, insert = true): number[] => {
  const rows = new Float32Array(DIM)
  table.lookup(group([sign], 1), rows, insert)
  return [...rows]
}

describe('SparseTable', () => {
  it('gives a sign the same initial weights whatever came before it', () => {
    const first = new SparseTable(createTable(options()), 0)
    const second = new SparseTable(createTable(options()), 0)
    for (let i = 0n; i < 500n; i++) weightsOf(second, i * 31n)
    for (const sign of [0n, 1n, 2n ** 63n, 2n ** 64n - 1n])
      expect(weightsOf(first, sign)).toEqual(weightsOf(second, sign))
    expect(weightsOf(first, 1n)).not.toEqual(weightsOf(first, 2n))
  })

  it('is looked through by two at a time', () => {
    const table = new SparseTable(createTable(options()), 0)
    const signs = Array.from({ length: 20_000 }, (_, i) => BigInt(i) * 977n)
    table.lookup(group(signs, 1), new Float32Array(signs.length * DIM), true)
    const seen: bigint[] = []
    for (const block of table.scan()) {
      seen.push(...block.signs)
      for (const _ of table.scan()); // as one does that inspects a table while it is saved
    }
    expect(seen.sort((a, b) => (a < b ? -1 : 1))).toEqual(signs)
  })

  it('knows which rows were made, updated or loaded since it was last asked', () => {
    const table = new SparseTable(createTable(options({ segments: 2 })), 0)
    const changed = () => [...table.changed()].flatMap(({ signs }) => [...signs]).sort((a, b) => (a < b ? -1 : 1))
    const signs = Array.from({ length: 300 }, (_, i) => BigInt(i) * 977n)
    const look = (some: readonly bigint[], insert: boolean) =>
      table.lookup(group(some, 2), new Float32Array(some.length * DIM), insert)
    look(signs, true)
    expect(changed()).toEqual(signs)
    table.forgetChanges()
    look(signs, true) // reads alone
    expect(changed()).toEqual([])
    const some = signs.slice(40, 43)
    look(some, true)
    table.update(group(some, 2), new Float32Array(3 * DIM).fill(1), stepFactors(optimizer.sgd(), 1))
    // Rows shorter than 32 bytes share a mark with a neighbour.
    expect(changed()).toEqual(expect.arrayContaining(some))
    expect(changed().length).toBeLessThanOrEqual(3 * 3)
    table.forgetChanges()
    table.load(BigUint64Array.of(5n), new Uint8Array(table.rowBytes))
    expect(changed()).toContain(5n)
    expect(table.isChangedWholly).toBe(false)
    table.clear()
    expect(table.isChangedWholly).toBe(true)
    table.forgetChanges()
    expect([table.isChangedWholly, changed()]).toEqual([false, []])
  })

  it('computes initial weights as the plain formula does', () => {
    const table = new SparseTable(createTable(options()), 0)
    const base = mix64(99n ^ deriveSeed(7, 'table:emb'))
    const expected = Array.from({ length: DIM }, (_, j) => {
      const bits = mix64(base + BigInt((j >> 1) + 1) * GOLDEN)
      const half = j % 2 === 0 ? bits >> 40n : (bits & 0xffffffffn) >> 8n
      return Math.fround(-1 + (2 / 2 ** 24) * Number(half))
    })
    expect(weightsOf(table, 99n)).toEqual(expected)
  })

  it('draws normal weights with the stated mean and deviation', () => {
    const table = new SparseTable(createTable(options({ init: { kind: 'normal', mean: 2, std: 0.5 } })), 0)
    const values = Array.from({ length: 2000 }, (_, i) => weightsOf(table, BigInt(i))).flat()
    const mean = values.reduce((sum, x) => sum + x, 0) / values.length
    const deviation = Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length)
    expect(mean).toBeCloseTo(2, 1)
    expect(deviation).toBeCloseTo(0.5, 1)
  })

  it('does not create rows when it only looks', () => {
    const table = new SparseTable(createTable(options()), 0)
    const imagined = weightsOf(table, 5n, false)
    expect(table.rowCount).toBe(0)
    expect(weightsOf(table, 5n, true)).toEqual(imagined)
    expect(table.rowCount).toBe(1)
  })

  it.each([1, 4])('keeps every row through growth on %i segments', (segments) => {
    const table = new SparseTable(createTable(options({ segments })), 0)
    const total = 60_000
    const batch = 1000
    for (let start = 0; start < total; start += batch) {
      const signs = Array.from({ length: batch }, (_, i) => BigInt(start + i) * 0x1_0000_0001n)
      const distinct = group(signs, segments)
      const rows = new Float32Array(batch * DIM)
      table.lookup(distinct, rows, true)
      // Gradient = (sign's number) makes each row's later weight tell whose it is.
      const gradients = Float32Array.from({ length: batch * DIM }, (_, i) =>
        Number(distinct.signs[Math.floor(i / DIM)]! / 0x1_0000_0001n),
      )
      table.update(distinct, gradients, stepFactors(optimizer.sgd({ learningRate: 1 }), 1))
    }
    expect(table.rowCount).toBe(total)
    const fresh = new SparseTable(createTable(options({ segments })), 0)
    for (const number of [0, 1, 999, 31_000, 59_999]) {
      const distinct = group([BigInt(number) * 0x1_0000_0001n], segments)
      const [now, initial] = [new Float32Array(DIM), new Float32Array(DIM)]
      table.lookup(distinct, now, false)
      fresh.lookup(distinct, initial, false)
      expect(now[0]).toBeCloseTo(initial[0]! - number, 0)
    }
    const seen = new Set<bigint>()
    for (const { signs } of table.scan()) for (const sign of signs) seen.add(sign)
    expect(seen.size).toBe(total)
  })

  it('stays below 1.4 times the payload at every moment of growth', () => {
    const adam = options({ dim: 9, optimizer: optimizer.adam({ lazy: true }) })
    const table = new SparseTable(createTable(adam), 0)
    const batch = 4096
    const rows = new Float32Array(batch * 9)
    let worst = 0
    for (let start = 0; start < 400_000; start += batch) {
      table.lookup(
        group(
          Array.from({ length: batch }, (_, i) => mix64(BigInt(start + i))),
          1,
        ),
        rows,
        true,
      )
      if (start > 100_000) worst = Math.max(worst, table.usedBytes / table.rowCount)
    }
    expect(worst).toBeLessThan(1.4 * 116)
  })

  it('digests content, not order of arrival', () => {
    const digest = (signs: bigint[]) => {
      const table = new SparseTable(createTable(options()), 0)
      for (const sign of signs) weightsOf(table, sign)
      const hash = createHash('sha256')
      digestRows(copyRows(table), hash)
      return hash.digest('hex')
    }
    expect(digest([1n, 2n, 3n])).toBe(digest([3n, 1n, 2n]))
    expect(digest([1n, 2n, 3n])).not.toBe(digest([1n, 2n, 4n]))
  })
})

describe('loading rows', () => {
  const digestOf = (table: SparseTable) => {
    const hash = createHash('sha256')
    digestRows(copyRows(table), hash)
    return hash.digest('hex')
  }

  it.each([1, 4, 16])('restores a table of four segments into %i, over what was there', (segments) => {
    const spec = optimizer.adam()
    const saved = new SparseTable(createTable(options({ optimizer: spec, segments: 4 })), 0)
    const distinct = group(
      Array.from({ length: 10_000 }, (_, i) => mix64(BigInt(i))),
      4,
    )
    const gradients = new Float32Array(10_000 * DIM).map((_, i) => Math.sin(i))
    saved.lookup(distinct, new Float32Array(10_000 * DIM), true, stepFactors(spec, 1))
    saved.update(distinct, gradients, stepFactors(spec, 1))
    const loaded = new SparseTable(createTable(options({ optimizer: spec, segments })), 0)
    loaded.lookup(group([mix64(3n)], segments), new Float32Array(DIM), true, stepFactors(spec, 5))
    for (const { signs, rows } of saved.scan()) loaded.load(signs, rows)
    expect(loaded.rowCount).toBe(10_000)
    expect(digestOf(loaded)).toBe(digestOf(saved))
  })

  it('only looking at a row that missed steps shows it as it would be and leaves it as it is', () => {
    const spec = optimizer.adam({ learningRate: 0.01 })
    const table = new SparseTable(createTable(options({ optimizer: spec })), 0)
    const [distinct, rows, shown] = [group([42n], 1), new Float32Array(DIM), new Float32Array(DIM)]
    table.lookup(distinct, rows, true, stepFactors(spec, 1))
    table.update(distinct, new Float32Array(DIM).fill(1), stepFactors(spec, 1))
    const before = digestOf(table)
    table.lookup(distinct, shown, false, stepFactors(spec, 30))
    expect(digestOf(table)).toBe(before)
    table.lookup(distinct, rows, true, stepFactors(spec, 30))
    expect(shown).toEqual(rows)
    expect(digestOf(table)).not.toBe(before)
  })
})

const SPECS: readonly OptimizerSpec[] = [
  optimizer.sgd({ learningRate: 0.1 }),
  optimizer.momentum({ learningRate: 0.1 }),
  optimizer.momentum({ learningRate: 0.1, nesterov: true }),
  optimizer.adagrad({ learningRate: 0.05, initialAccumulator: 3 }),
  optimizer.rmsprop({ learningRate: 0.01 }),
  optimizer.rmsprop({ learningRate: 0.01, momentum: 0.9, centered: true }),
  optimizer.adam({ learningRate: 0.01, lazy: true }),
  optimizer.ftrl({ learningRate: 0.1, l1: 0.05, l2Proximal: 0.1, initialAccumulator: 0.1 }),
]

describe('optimizer kernels', () => {
  it.each(SPECS.map((spec) => [JSON.stringify(spec), spec] as const))(
    '%s equals its reference bit for bit',
    (_, spec) => {
      const table = new SparseTable(createTable(options({ optimizer: spec })), 0)
      const rule = kernelRule(spec)
      const l2 = spec.kind === 'ftrl' ? 0 : 0.01
      const distinct = group([42n], 1)
      const rows = new Float32Array(DIM)
      table.lookup(distinct, rows, true)
      const cells: Cell[] = [...rows].map((weight) => ({
        weight,
        state: Array.from({ length: rule.states }, (_, i) => (i === 0 ? Math.fround(rule.stateInit) : 0)),
      }))
      for (let step = 1; step <= 20; step++) {
        const gradients = Float32Array.from({ length: DIM }, (_, j) => Math.sin(step * 1.7 + j))
        const factors = stepFactors(spec, step)
        table.update(distinct, gradients, factors, l2)
        cells.forEach((cell, j) => {
          applyReference(rule, factors, l2, cell, gradients[j]!)
        })
        table.lookup(distinct, rows, true, stepFactors(spec, step + 1))
        expect([...rows]).toEqual(cells.map((cell) => cell.weight))
      }
    },
  )

  it('moves a row through the steps it missed when Adam is not lazy', () => {
    const spec = optimizer.adam({ learningRate: 0.01 })
    const table = new SparseTable(createTable(options({ optimizer: spec })), 0)
    const rule = kernelRule(spec)
    const distinct = group([42n], 1)
    const rows = new Float32Array(DIM)
    table.lookup(distinct, rows, true, stepFactors(spec, 1))
    const cells: Cell[] = [...rows].map((weight) => ({ weight, state: [0, 0] }))
    for (let step = 1; step <= 60; step++) {
      const touched = step === 1 || step === 20 || step === 60
      const gradients = new Float32Array(DIM).fill(touched ? step / 10 : 0)
      if (touched) {
        table.lookup(distinct, rows, true, stepFactors(spec, step))
        table.update(distinct, gradients, stepFactors(spec, step))
      }
      for (const [j, cell] of cells.entries()) applyReference(rule, stepFactors(spec, step), 0, cell, gradients[j]!)
    }
    table.lookup(distinct, rows, true, stepFactors(spec, 61))
    for (const [j, cell] of cells.entries()) expect(rows[j]).toBeCloseTo(cell.weight, 5)
  })

  it('takes the first step of Adam and of AdaGrad as the written examples do', () => {
    const adam = optimizer.adam({ learningRate: 0.001, lazy: true })
    const cell: Cell = { weight: 0, state: [0, 0] }
    applyReference(kernelRule(adam), stepFactors(adam, 1), 0, cell, 1)
    expect(cell.weight).toBeCloseTo(-0.001, 6)
  })

  it('copies rows of some signs to a table like it, and back, byte for byte', () => {
    const handle = createTable(options({ segments: 2, optimizer: optimizer.adam({ learningRate: 0.1 }) }))
    const host = new SparseTable(handle, 0)
    const side = new SparseTable(emptyTableLike(handle), 0)
    const all = group(
      Array.from({ length: 20_000 }, (_, i) => mix64(BigInt(i))),
      2,
    )
    host.lookup(all, undefined, true)
    const some = group([...all.signs.filter((_, i) => i % 3 === 0), 5n, 6n], 2)
    expect(side.copyFrom(host, some)).toBe(some.signs.length - 2) // 5 and 6 have no row there
    expect(side.copyFrom(host, some)).toBe(0) // those that are there are left alone
    expect(side.rowCount).toBe(some.signs.length)

    const step = stepFactors(optimizer.adam({ learningRate: 0.1 }), 1)
    side.lookup(some, undefined, true, step)
    side.update(some, new Float32Array(some.signs.length * DIM).fill(1), step)
    for (const segment of [0, 1]) side.copyTo(host, segment, true)
    expect(host.rowCount).toBe(all.signs.length + 2)
    const rowsOf = (table: SparseTable) => {
      const rows = new Float32Array(some.signs.length * DIM)
      table.lookup(some, rows, false)
      return rows
    }
    expect(rowsOf(host)).toEqual(rowsOf(side))

    side.clear()
    expect(side.rowCount).toBe(0)
    for (const segment of [0, 1]) expect(host.copyTo(side, segment, false)).toBe(0) // nothing to overwrite
    expect(side.copyFrom(host, all) + side.copyFrom(host, some)).toBe(all.signs.length + 2)
    const [first, second] = [host, side].map((table) => {
      const hash = createHash('sha256')
      digestRows(copyRows(table), hash)
      return hash.digest('hex')
    })
    expect(first).toBe(second)
  })
})
