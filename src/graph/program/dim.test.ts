import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addDims, type Dim, divDims, evaluateDim, mulDims, sizeOf, subDims } from './dim.ts'

const SIZES: Record<string, number> = { B: 7, T: 5, U: 3 }
const at = (dim: Dim) => evaluateDim(dim, (symbol) => SIZES[symbol]!)
const dim: fc.Arbitrary<Dim> = fc.letrec((tie) => ({
  dim: fc.oneof(
    { maxDepth: 3 },
    fc.integer({ min: -4, max: 9 }),
    fc.constantFrom('B', 'T', 'U'),
    fc.tuple(tie('dim') as fc.Arbitrary<Dim>, tie('dim') as fc.Arbitrary<Dim>).map(([a, b]) => addDims(a, b)),
    fc.tuple(tie('dim') as fc.Arbitrary<Dim>, tie('dim') as fc.Arbitrary<Dim>).map(([a, b]) => mulDims(a, b)),
  ),
})).dim as fc.Arbitrary<Dim>

describe('symbolic dimensions', () => {
  test('add, subtract and multiply as their sizes do', () => {
    fc.assert(
      fc.property(dim, dim, (a, b) => {
        expect(at(addDims(a, b))).toBe(at(a) + at(b))
        expect(at(subDims(a, b))).toBe(at(a) - at(b))
        expect(at(mulDims(a, b))).toBe(at(a) * at(b) + 0)
      }),
    )
  })

  test('have one form, whatever order they were computed in', () => {
    fc.assert(
      fc.property(dim, dim, dim, (a, b, c) => {
        expect(addDims(addDims(a, b), c)).toBe(addDims(c, addDims(b, a)))
        expect(mulDims(a, addDims(b, c))).toBe(addDims(mulDims(c, a), mulDims(b, a)))
        expect(subDims(addDims(a, b), b)).toBe(a)
      }),
    )
  })

  test('read as a person writes them', () => {
    expect(mulDims('T', 'B')).toBe('B*T')
    expect(subDims(addDims('T', 1), 3)).toBe('T-2')
    expect(subDims(mulDims(2, 'B'), mulDims(3, 'B'))).toBe('-B')
    expect(sizeOf(['B', 4, 'T'])).toBe('4*B*T')
    expect(subDims('B', 'B')).toBe(0)
  })

  test('divide only where nothing is left over', () => {
    expect(divDims(mulDims(mulDims('B', 'T'), 6), mulDims('B', 2))).toBe('3*T')
    expect(divDims(addDims(mulDims('B', 'T'), 'B'), 'B')).toBe('T+1')
    expect(divDims('B', 'T')).toBeUndefined()
    expect(divDims(mulDims(3, 'B'), 2)).toBeUndefined()
  })
})
