import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mix64 } from '../util/index.ts'
import { POOLINGS, type Region, WorkspacePlan } from './workspace.ts'

const DIM = 3
const SLOTS = 3
const CAPACITY = 64

/** A workspace with room for CAPACITY signs, and typed views of its regions. */
function open() {
  const plan = new WorkspacePlan()
  const region = (bytes: number) => plan.region(bytes)
  const regions = {
    signs: region(8 * CAPACITY),
    counts: region(4 * CAPACITY),
    table: region(4 * 128),
    arrival: region(8 * CAPACITY),
    place: region(4 * CAPACITY),
    inverse: region(4 * CAPACITY),
    distinct: region(8 * CAPACITY),
    lengths: region(4 * 8),
    wanted: region(SLOTS),
    targets: region(4 * SLOTS),
    outSigns: region(8 * CAPACITY),
    outCounts: region(4 * CAPACITY),
    rows: region(4 * CAPACITY * DIM),
    out: region(4 * CAPACITY * DIM * SLOTS),
    mask: region(4 * CAPACITY * SLOTS),
  }
  const { kernel, buffer } = plan.open()
  return {
    kernel,
    at: regions,
    u64: ({ at }: Region, n: number) => new BigUint64Array(buffer, at, n),
    u32: ({ at }: Region, n: number) => new Uint32Array(buffer, at, n),
    f32: ({ at }: Region, n: number) => new Float32Array(buffer, at, n),
    bytes: ({ at }: Region, n: number) => new Uint8Array(buffer, at, n),
  }
}

/** Samples of SLOTS slots with 0 to 3 signs each. */
const samples = fc.array(
  fc.array(fc.array(fc.bigInt(0n, 9n), { maxLength: 3 }), { minLength: SLOTS, maxLength: SLOTS }),
  {
    minLength: 1,
    maxLength: 7,
  },
)

describe('dedupe', () => {
  it.each([0, 1, 3])('numbers distinct signs by segment, with %i segment bits', (bits) => {
    fc.assert(
      fc.property(fc.array(fc.bigInt(0n, 2n ** 64n - 1n), { minLength: 1, maxLength: 20 }), (values) => {
        const signs = [...values, ...values.slice(0, 10)]
        const { kernel, at, u64, u32 } = open()
        u64(at.signs, signs.length).set(signs)
        const { table, arrival, place, inverse, lengths } = at
        const [from, to] = [at.signs.at, at.distinct.at]
        const found = kernel.dedupe(
          from,
          signs.length,
          bits,
          table.at,
          127,
          arrival.at,
          place.at,
          inverse.at,
          to,
          lengths.at,
        )
        const distinct = [...u64(at.distinct, found)]
        expect(new Set(distinct)).toEqual(new Set(signs))
        expect(distinct.length).toBe(new Set(signs).size)
        expect([...u32(at.inverse, signs.length)].map((i) => distinct[i])).toEqual(signs)
        const segmentOf = (sign: bigint) => Number((mix64(sign) >> 1n) >> (63n - BigInt(bits)))
        const expected = Array.from(
          { length: 2 ** bits },
          (_, s) => distinct.filter((sign) => segmentOf(sign) === s).length,
        )
        expect([...u32(at.lengths, 2 ** bits)]).toEqual(expected)
        expect(distinct.map(segmentOf)).toEqual(distinct.map(segmentOf).toSorted((a, b) => a - b))
      }),
    )
  })
})

describe('select', () => {
  it('keeps the signs of the wanted slots, sample by sample', () => {
    fc.assert(
      fc.property(samples, fc.subarray([0, 1, 2], { minLength: 1 }), (data, wanted) => {
        const { kernel, at, u64, u32, bytes } = open()
        u64(at.signs, data.flat(2).length).set(data.flat(2))
        u32(at.counts, data.length * SLOTS).set(data.flat().map((cell) => cell.length))
        for (const slot of wanted) bytes(at.wanted, SLOTS)[slot] = 1
        const n = kernel.select(
          at.signs.at,
          at.counts.at,
          data.length,
          SLOTS,
          at.wanted.at,
          at.outSigns.at,
          at.outCounts.at,
        )
        const kept = data.map((sample) => sample.filter((_, slot) => wanted.includes(slot)))
        expect([...u64(at.outSigns, n)]).toEqual(kept.flat(2))
        expect([...u32(at.outCounts, data.length * wanted.length)]).toEqual(kept.flat().map((cell) => cell.length))
      }),
    )
  })
})

/** Loads a batch whose signs are row numbers, and rows with distinct values. */
function load(data: bigint[][][]) {
  const opened = open()
  const { at, u32, f32 } = opened
  u32(at.inverse, data.flat(2).length).set(data.flat(2).map(Number))
  u32(at.counts, data.length * SLOTS).set(data.flat().map((cell) => cell.length))
  f32(at.rows, 10 * DIM).set(Array.from({ length: 10 * DIM }, (_, i) => Math.fround(Math.sin(i) * 2)))
  return opened
}

const rowOf = (row: bigint) => Array.from({ length: DIM }, (_, j) => Math.fround(Math.sin(Number(row) * DIM + j) * 2))
const factorOf = { sum: () => 1, mean: (n: number) => 1 / n, sqrtn: (n: number) => 1 / Math.sqrt(n) }

describe.each(['sum', 'mean', 'sqrtn'] as const)('pooling by %s', (pooling) => {
  const targets = [2, -1, 0] // slot 0 goes last, slot 1 nowhere, slot 2 first
  const width = 3

  it('adds up the rows of a cell; an empty cell is zero', () => {
    fc.assert(
      fc.property(samples, (data) => {
        const { kernel, at, u32, f32 } = load(data)
        u32(at.targets, SLOTS).set(targets.map((t) => t >>> 0))
        kernel.expandPooled(
          at.inverse.at,
          at.counts.at,
          data.length,
          SLOTS,
          at.targets.at,
          at.rows.at,
          DIM,
          width,
          at.out.at,
          POOLINGS[pooling],
        )
        const expected = data.flatMap((sample) => {
          const out = new Array<number>(width * DIM).fill(0)
          sample.forEach((cell, slot) => {
            for (const row of cell) {
              for (let j = 0; j < DIM; j++)
                if (targets[slot]! >= 0)
                  out[targets[slot]! * DIM + j]! += rowOf(row)[j]! * factorOf[pooling](cell.length)
            }
          })
          return out
        })
        const got = [...f32(at.out, data.length * width * DIM)]
        got.forEach((value, i) => {
          expect(value).toBeCloseTo(expected[i]!, 4)
        })
      }),
    )
  })

  it('hands gradients back to the rows they came from', () => {
    fc.assert(
      fc.property(samples, (data) => {
        const { kernel, at, u32, f32 } = load(data)
        u32(at.targets, SLOTS).set(targets.map((t) => t >>> 0))
        const size = data.length * width * DIM
        const gradients = Array.from({ length: size }, (_, i) => Math.cos(i))
        f32(at.out, size).set(gradients)
        f32(at.rows, 10 * DIM).fill(0)
        kernel.mergePooled(
          at.inverse.at,
          at.counts.at,
          data.length,
          SLOTS,
          at.targets.at,
          at.out.at,
          DIM,
          width,
          at.rows.at,
          POOLINGS[pooling],
        )
        const expected = new Array<number>(10 * DIM).fill(0)
        data.forEach((sample, i) => {
          sample.forEach((cell, slot) => {
            if (targets[slot]! < 0) return
            for (const row of cell) {
              for (let j = 0; j < DIM; j++) {
                expected[Number(row) * DIM + j]! +=
                  gradients[(i * width + targets[slot]!) * DIM + j]! * factorOf[pooling](cell.length)
              }
            }
          })
        })
        const got = [...f32(at.rows, 10 * DIM)]
        got.forEach((value, i) => {
          expect(value).toBeCloseTo(expected[i]!, 4)
        })
      }),
    )
  })
})

describe('sequences', () => {
  const LENGTH = 2 // shorter than the longest cell: what is past it is dropped

  it('pads the rows of one slot and masks the padding', () => {
    fc.assert(
      fc.property(samples, (data) => {
        const { kernel, at, f32 } = load(data)
        kernel.expandSequence(
          at.inverse.at,
          at.counts.at,
          data.length,
          SLOTS,
          1,
          at.rows.at,
          DIM,
          LENGTH,
          at.out.at,
          at.mask.at,
        )
        const cells = data.map((sample) => sample[1]!.slice(0, LENGTH))
        const pad = (cell: bigint[]) =>
          Array.from({ length: LENGTH }, (_, k) => (k < cell.length ? rowOf(cell[k]!) : [0, 0, 0])).flat()
        expect([...f32(at.out, data.length * LENGTH * DIM)]).toEqual(cells.flatMap(pad))
        expect([...f32(at.mask, data.length * LENGTH)]).toEqual(
          cells.flatMap((cell) => [0, 1].map((k) => (k < cell.length ? 1 : 0))),
        )
      }),
    )
  })

  it('hands gradients back to the rows of the sequence only', () => {
    fc.assert(
      fc.property(samples, (data) => {
        const { kernel, at, f32 } = load(data)
        f32(at.out, data.length * LENGTH * DIM).fill(1)
        f32(at.rows, 10 * DIM).fill(0)
        kernel.mergeSequence(at.inverse.at, at.counts.at, data.length, SLOTS, 1, at.out.at, DIM, LENGTH, at.rows.at)
        const times = (row: number) =>
          data.flatMap((sample) => sample[1]!.slice(0, LENGTH)).filter((sign) => Number(sign) === row).length
        expect([...f32(at.rows, 10 * DIM)]).toEqual(
          Array.from({ length: 10 * DIM }, (_, i) => times(Math.floor(i / DIM))),
        )
      }),
    )
  })
})

describe('single signs', () => {
  it('expands as pooling does when every cell has one sign, and merges back', () => {
    const data = [
      [[1n], [2n], [3n]],
      [[3n], [1n], [1n]],
    ]
    const { kernel, at, f32 } = load(data)
    kernel.expandSingle(at.inverse.at, 6, at.rows.at, DIM, at.out.at)
    expect([...f32(at.out, 6 * DIM)]).toEqual(data.flat(2).flatMap(rowOf))
    f32(at.out, 6 * DIM).fill(1)
    f32(at.rows, 10 * DIM).fill(0)
    kernel.mergeSingle(at.inverse.at, 6, at.out.at, DIM, at.rows.at)
    expect([...f32(at.rows, 5 * DIM)]).toEqual([0, 3, 1, 2, 0].flatMap((n) => [n, n, n]))
  })
})

describe('numbers', () => {
  it('sums squares, scales, clamps and finds the largest count', () => {
    const { kernel, at, f32, u32 } = open()
    f32(at.out, 4).set([3, -4, 0, 12])
    expect(kernel.sumSquares(at.out.at, 4)).toBe(169)
    kernel.scale(at.out.at, 4, 0.5)
    kernel.clamp(at.out.at, 4, -1, 2)
    expect([...f32(at.out, 4)]).toEqual([1.5, -1, 0, 2])
    u32(at.counts, 3).set([1, 7, 2])
    expect(kernel.largest(at.counts.at, 3)).toBe(7)
  })

  it('counts predictions into buckets by label and reports what is no probability', () => {
    const { kernel, at, f32, u32 } = open()
    f32(at.out, 8).set([9, 0, 9, 0.5, 9, 1, 9, Number.NaN]) // two columns; the second is the prediction
    f32(at.mask, 4).set([0, 1, 1, 0])
    const thresholds = 4
    expect(kernel.histogram(at.out.at + 4, 2, at.mask.at, 4, thresholds, at.counts.at)).toBe(1)
    expect([...u32(at.counts, 10)]).toEqual([0, 0, 1, 0, 1, 1, 0, 0, 0, 0])
  })
})

describe('what a batch shows of its signs', () => {
  it('counts shows and clicks by distinct sign, and merges contributions', () => {
    fc.assert(
      fc.property(
        samples,
        fc.array(fc.tuple(fc.nat(5), fc.nat(2)), { minLength: 7, maxLength: 7 }),
        (batch, values) => {
          const { kernel, at, u32, f32 } = open()
          const cells = batch.flat()
          const signs = cells.flat()
          const distinct = [...new Set(signs)]
          u32(at.counts, cells.length).set(cells.map((cell) => cell.length))
          u32(at.inverse, signs.length).set(signs.map((sign) => distinct.indexOf(sign)))
          const [numbers, shows, clicks] = [at.targets, at.outCounts, at.place]
          f32(numbers, SLOTS).set([101, 7, 3])
          f32(shows, batch.length).set(values.slice(0, batch.length).map(([show]) => show))
          f32(clicks, batch.length).set(values.slice(0, batch.length).map(([, click]) => click))
          const out = f32(at.out, 3 * distinct.length)
          out.fill(0)
          const cellsAt = [at.inverse.at, at.counts.at, batch.length, SLOTS] as const
          kernel.countShowClick(...cellsAt, numbers.at, shows.at, clicks.at, at.out.at)
          const expected = distinct.map((): [number, number, number] => [0, 0, 0])
          for (const [i, sample] of batch.entries())
            for (const [slot, cell] of sample.entries())
              for (const sign of cell) {
                const one = expected[distinct.indexOf(sign)]!
                one[0] = [101, 7, 3][slot]!
                one[1] += values[i]![0]
                one[2] += values[i]![1]
              }
          expect([...out]).toEqual(expected.flat())

          // The same twice, as from two workers: counts are added, slots stay.
          const both = [...expected, ...expected]
          f32(at.rows, 3 * both.length).set(both.flat())
          u32(at.inverse, both.length).set(both.map((_, i) => i % distinct.length))
          out.fill(0)
          kernel.mergeShowClick(at.inverse.at, both.length, at.rows.at, at.out.at)
          expect([...out]).toEqual(expected.flatMap(([slot, show, click]) => [slot, 2 * show, 2 * click]))
        },
      ),
    )
  })
})
