import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AccessorConfig, SPARSE_RULES, type SparseRule } from '../../base/kernel/index.ts'
import { deriveSeed, mix64 } from '../../base/util/index.ts'
import { optimizer } from '../optim/index.ts'
import { AccessorReference } from './accessor-reference.testing.ts'
import { readAccessorRow } from './accessor-row.ts'
import { createTable, type DistinctSigns, SparseTable } from './table.ts'

const RULE: SparseRule = {
  name: 'SparseAdaGradSGDRule',
  ...{ learningRate: 0.05, initialRange: 0.1, initialG2sum: 3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
  bounds: [-10, 10],
}
const config = (over: Partial<AccessorConfig> = {}): AccessorConfig => ({
  accessor: 'SparseAccessor',
  ...{ embedxDim: 4, embedxThreshold: 0, embed: RULE, embedx: RULE, nonclkCoeff: 0.1, clickCoeff: 1 },
  ...{ baseThreshold: 0, deltaThreshold: 0, deltaKeepDays: 16, showClickDecayRate: 1, deleteThreshold: 0 },
  ...{ deleteAfterUnseenDays: 30, showScale: true, zeroInit: true },
  ...over,
})
const widthOf = ({ accessor, embedxDim }: AccessorConfig) => embedxDim + (accessor === 'SparseAccessor' ? 1 : 3)
const tableOf = (accessor: AccessorConfig, segments = 1) => {
  const init = { kind: 'constant', value: 0 } as const
  const rest = { name: 'emb', dim: widthOf(accessor), init, optimizer: optimizer.sgd(), seed: 7, segments }
  return new SparseTable(createTable({ ...rest, accessor, precision: accessor.precision }), 0)
}
const twinOf = (accessor: AccessorConfig) => new AccessorReference(accessor, deriveSeed(7, 'table:emb'))
const group = (signs: readonly bigint[], segments = 1): DistinctSigns => {
  const segmentOf = (sign: bigint) => Number((mix64(sign) >> 1n) >> (63n - BigInt(Math.log2(segments))))
  const groups = Array.from({ length: segments }, (_, s) => signs.filter((sign) => segmentOf(sign) === s))
  return { signs: BigUint64Array.from(groups.flat()), lengths: Uint32Array.from(groups.map((g) => g.length)) }
}

interface Push {
  readonly sign: bigint
  readonly gradients?: readonly number[]
  readonly show?: number
  readonly click?: number
  readonly samples?: number
  readonly step?: number
}

/** One sign pushed to a table. */
function push(table: SparseTable, { sign, gradients, show = 1, click = 0, samples = 1, step = 1 }: Push): void {
  const all = Float32Array.from(gradients ?? new Array<number>(table.dim).fill(0))
  table.push(group([sign], 2 ** table.segmentBits), {
    ...{ gradients: all, samples, step },
    showClick: Float32Array.of(3, show, click),
  })
}

const pulled = (table: SparseTable, sign: bigint): number[] => {
  const rows = new Float32Array(table.dim)
  table.lookup(group([sign], 2 ** table.segmentBits), rows, true)
  return [...rows]
}

/** The row of a sign as the reference has it. */
function rowOf(table: SparseTable, sign: bigint) {
  for (const { signs, rows, rowBytes } of table.scan()) {
    const i = signs.indexOf(sign)
    if (i >= 0) return readAccessorRow(table.accessor!, rows.slice(i * rowBytes, (i + 1) * rowBytes))
  }
  return undefined
}

describe('the written examples', () => {
  it('AdaGrad: w 0, g 0.6, show 2, lr 0.05, g2 3 gives w -0.015, g2 0.09', () => {
    const table = tableOf(config())
    push(table, { sign: 1n, gradients: [0.6, 0, 0, 0, 0], show: 2 })
    expect(pulled(table, 1n)[0]).toBeCloseTo(-0.015, 7)
    expect(rowOf(table, 1n)?.embed.state[0]).toBeCloseTo(0.09, 7)
  })

  it('Adam: the first step with g 1 and lr 0.001 gives w -0.001', () => {
    const adam: SparseRule = { ...RULE, name: 'SparseAdamSGDRule', learningRate: 0.001 }
    const table = tableOf(config({ embed: adam }))
    push(table, { sign: 1n, gradients: [1, 0, 0, 0, 0] })
    expect(pulled(table, 1n)[0]).toBeCloseTo(-0.001, 7)
  })

  it('score: show 10 and click 2 are worth 2.8', () => {
    const at = (embedxThreshold: number) => {
      const table = tableOf(config({ embedxThreshold }))
      push(table, { sign: 1n, show: 10, click: 2 })
      return rowOf(table, 1n)
    }
    expect(at(2.79)?.embedx).toBeDefined()
    expect(at(2.81)?.embedx).toBeUndefined()
    expect(at(0)?.deltaScore).toBeCloseTo(2.8, 6)
  })

  it('shrink with rate 0.98 and threshold 0.8 keeps show 9 (0.882) and deletes show 8 (0.784)', () => {
    const table = tableOf(config({ showClickDecayRate: 0.98, deleteThreshold: 0.8 }))
    push(table, { sign: 9n, show: 9 })
    push(table, { sign: 8n, show: 8 })
    expect(table.shrink()).toBe(1)
    expect(rowOf(table, 9n)?.show).toBeCloseTo(8.82, 5)
    expect(rowOf(table, 8n)).toBeUndefined()
  })
})

describe('rows of an accessor', () => {
  it('pulling an unknown sign gives zeros and creates nothing', () => {
    const table = tableOf(config())
    expect(pulled(table, 5n)).toEqual([0, 0, 0, 0, 0])
    expect(table.rowCount).toBe(0)
  })

  it('the push that reaches the threshold makes the other weights and discards its gradient for them', () => {
    const table = tableOf(config({ embedxThreshold: 0.25 }))
    const gradients = [0, 1, 1, 1, 1]
    push(table, { sign: 5n, gradients })
    push(table, { sign: 5n, gradients })
    expect(pulled(table, 5n).slice(1)).toEqual([0, 0, 0, 0])
    push(table, { sign: 5n, gradients })
    const made = pulled(table, 5n).slice(1)
    expect(made.every((weight) => weight !== 0 && Math.abs(weight) <= 0.1)).toBe(true)
    push(table, { sign: 5n, gradients })
    expect(pulled(table, 5n)[1]).toBeLessThan(made[0]!)
  })

  it('gradients of a mean over a batch count as those of its sum', () => {
    const naive: SparseRule = { ...RULE, name: 'SparseNaiveSGDRule' }
    const table = tableOf(config({ embed: naive }))
    push(table, { sign: 1n, gradients: [0.5, 0, 0, 0, 0], samples: 8 })
    expect(pulled(table, 1n)[0]).toBeCloseTo(-0.2, 7)
  })

  it('CtrCommonAccessor leads with show and click, which have no gradient', () => {
    const table = tableOf(config({ accessor: 'CtrCommonAccessor' }))
    push(table, { sign: 1n, gradients: [99, 99, 0.6, 0, 0, 0, 0], show: 2, click: 1 })
    expect(pulled(table, 1n).slice(0, 2)).toEqual([2, 1])
    expect(pulled(table, 1n)[2]).toBeCloseTo(-0.015, 7)
  })

  it('CtrDoubleAccessor counts shows beyond what float32 can', () => {
    const many = 2 ** 24
    const counts = (accessor: AccessorConfig['accessor']) => {
      const table = tableOf(config({ accessor }))
      push(table, { sign: 1n, show: many })
      push(table, { sign: 1n, show: 1 })
      return rowOf(table, 1n)?.show
    }
    expect(counts('CtrDoubleAccessor')).toBe(many + 1)
    expect(counts('CtrCommonAccessor')).toBe(many)
  })

  it('weights stay inside their bounds', () => {
    const table = tableOf(
      config({ embed: { ...RULE, name: 'SparseNaiveSGDRule', learningRate: 1, bounds: [-0.5, 0.5] } }),
    )
    push(table, { sign: 1n, gradients: [3, 0, 0, 0, 0] })
    expect(pulled(table, 1n)[0]).toBe(-0.5)
    push(table, { sign: 1n, gradients: [-9, 0, 0, 0, 0] })
    expect(pulled(table, 1n)[0]).toBe(0.5)
  })

  it('unseen days grow with each save of mode 3, fall with a push, and end a row', () => {
    const table = tableOf(config({ deleteAfterUnseenDays: 2 }))
    for (const sign of [1n, 2n]) push(table, { sign })
    for (let day = 0; day < 3; day++) table.settle(3)
    push(table, { sign: 2n })
    expect([rowOf(table, 1n)?.unseenDays, rowOf(table, 2n)?.unseenDays]).toEqual([3, 0])
    expect(table.shrink()).toBe(1)
    expect(rowOf(table, 1n)).toBeUndefined()
  })

  it('a delta holds what gained score since the last, a base what is worth serving', () => {
    const table = tableOf(config({ baseThreshold: 0.5, deltaThreshold: 0.3 }))
    push(table, { sign: 1n, show: 10 })
    push(table, { sign: 2n, show: 2 })
    const saved = (mode: 0 | 1 | 2 | 3) => [...table.scan(mode)].flatMap(({ signs }) => [...signs]).sort()
    expect([saved(0), saved(1), saved(2), saved(3)]).toEqual([[1n, 2n], [1n], [1n], [1n, 2n]])
    table.settle(1)
    expect(saved(1)).toEqual([])
    push(table, { sign: 1n, show: 4 })
    expect([saved(1), saved(2)]).toEqual([[1n], [1n]])
  })

  it('a save that settles few of many rows does not count all of them as changed', () => {
    const table = tableOf(config({ baseThreshold: 0.5, deltaThreshold: 0.3 }))
    const changed = () => [...table.changed()].flatMap(({ signs }) => [...signs]).sort()
    push(table, { sign: 1n, show: 10 })
    push(table, { sign: 2n, show: 2 })
    table.forgetChanges()
    table.settle(0)
    expect([table.isChangedWholly, changed()]).toEqual([false, []])
    table.settle(1)
    expect([table.isChangedWholly, changed()]).toEqual([false, [1n]])
    table.forgetChanges()
    table.settle(3)
    expect(changed()).toEqual([1n, 2n])
  })

  it('rows that were deleted leave room for others', () => {
    const table = tableOf(config({ deleteThreshold: 1 }))
    const fill = (first: number) => {
      const signs = Array.from({ length: 20_000 }, (_, i) => mix64(BigInt(first + i)))
      const showClick = Float32Array.from({ length: 60_000 }, (_, i) => (i % 3 === 1 ? 1 : 0))
      table.push(group(signs), { gradients: new Float32Array(20_000 * 5), showClick, samples: 1, step: 1 })
    }
    fill(0)
    const used = table.usedBytes
    for (let round = 1; round < 6; round++) {
      expect(table.shrink()).toBe(20_000)
      expect(table.rowCount).toBe(0)
      fill(round * 20_000)
    }
    expect(table.rowCount).toBe(20_000)
    expect(table.usedBytes).toBeLessThan(1.3 * used)
    expect(rowOf(table, mix64(100_007n))?.seen).toBe(1)
    expect(rowOf(table, mix64(7n))).toBeUndefined()
  })
})

describe('entry policies', () => {
  it('a count filter gives a sign its row in the batch of that number; until then it is zeros and is not saved', () => {
    const table = tableOf(config({ admission: { kind: 'count', count: 3 } }))
    const gradients = [1, 0, 0, 0, 0]
    for (let time = 0; time < 2; time++) push(table, { sign: 1n, gradients })
    expect(pulled(table, 1n)).toEqual([0, 0, 0, 0, 0])
    expect([...table.scan(0)]).toEqual([])
    push(table, { sign: 1n, gradients })
    expect(pulled(table, 1n)[0]).toBeCloseTo(-0.05, 6)
    expect([...table.scan(0)].length).toBe(1)
  })

  it('a probability is the chance of being admitted', () => {
    const table = tableOf(config({ admission: { kind: 'probability', probability: 0.2 } }))
    const total = 5000
    const signs = Array.from({ length: total }, (_, i) => BigInt(i))
    const showClick = new Float32Array(3 * total).fill(1)
    const once = (step: number) =>
      table.push(group(signs), { gradients: new Float32Array(total * 5), showClick, samples: 1, step })
    once(1)
    expect(table.rowCount / total).toBeCloseTo(0.2, 1)
    once(2)
    expect(table.rowCount / total).toBeCloseTo(0.36, 1)
    once(1)
    expect(table.rowCount / total).toBeCloseTo(0.36, 1)
  })
})

describe('the kernel and its plain twin', () => {
  const names = Object.keys(SPARSE_RULES) as SparseRule['name'][]
  const accessors = ['SparseAccessor', 'CtrCommonAccessor', 'CtrDoubleAccessor'] as const
  it.each(names.flatMap((name) => accessors.map((accessor) => [name, accessor] as const)))(
    '%s under %s gives the same bits',
    (name, accessor) => {
      const number = fc.double({ min: -2, max: 2, noNaN: true }).map(Math.fround)
      const action = fc.record({
        sign: fc.bigInt(0n, 5n),
        gradients: fc.array(number, { minLength: 7, maxLength: 7 }),
        show: fc.integer({ min: 0, max: 5 }),
        click: fc.integer({ min: 0, max: 2 }),
        samples: fc.integer({ min: 1, max: 64 }),
        after: fc.constantFrom('nothing', 'nothing', 'nothing', 'forget', 'shrink', 'save 1', 'save 2', 'save 3'),
      })
      const admission = fc.constantFrom(
        {},
        { admission: { kind: 'count', count: 2 } } as const,
        { admission: { kind: 'probability', probability: 0.5 } } as const,
      )
      const kept = fc.record({ zeroInit: fc.boolean(), precision: fc.constantFrom('float32', 'bfloat16') })
      fc.assert(
        fc.property(
          fc.array(action, { maxLength: 30 }),
          admission,
          kept,
          (actions, admitted, { zeroInit, precision }) => {
            const rules = { embed: { ...RULE, name }, embedx: { ...RULE, name, learningRate: 0.1 } }
            const keeping = { showClickDecayRate: 0.9, deleteThreshold: 0.05, deltaThreshold: 0.2, baseThreshold: 0.2 }
            const all = config({
              accessor,
              ...rules,
              ...keeping,
              ...admitted,
              zeroInit,
              precision,
              embedxThreshold: 0.3,
            })
            const [table, twin] = [tableOf(all, 2), twinOf(all)]
            for (const [i, { sign, gradients: seven, show, click, samples, after }] of actions.entries()) {
              const gradients = seven.slice(0, table.dim)
              push(table, { sign, gradients, show, click, samples, step: i })
              twin.push(sign, gradients, [3, show, click], samples, BigInt(i))
              if (after === 'forget') table.forgetChanges()
              if (after === 'shrink') expect(table.shrink()).toBe(twin.shrink())
              const mode = after.startsWith('save') ? (Number(after.at(-1)) as 1 | 2 | 3) : undefined
              if (mode) {
                const saved = [...twin.rows].filter(([, row]) => twin.saved(row, mode)).map(([known]) => known)
                expect([...table.scan(mode)].flatMap(({ signs }) => [...signs]).sort()).toEqual(saved.sort())
                table.settle(mode)
                twin.settle(mode)
              }
            }
            expect(table.rowCount).toBe(twin.rows.size)
            for (const [sign, row] of twin.rows) expect(rowOf(table, sign)).toEqual(row)
            for (let sign = 0n; sign <= 5n; sign++) expect(pulled(table, sign)).toEqual(twin.pull(sign))
          },
        ),
        { numRuns: 80 },
      )
    },
  )
})
