import { expect, it } from 'vitest'
import { aucOf } from './auc.ts'

const auc = (positives: number[], negatives: number[]) => aucOf(Float64Array.from([...positives, ...negatives]))

it('is 1 when every positive ranks above every negative', () => {
  expect(auc([0, 1], [1, 0])).toBe(1)
})

it('is 0.5 when classes do not differ', () => {
  expect(auc([1, 1], [1, 1])).toBe(0.5)
})

it('is 0.5 when a class is missing', () => {
  expect(auc([1, 3], [0, 0])).toBe(0.5)
})

it('counts a tie as half', () => {
  // Three negatives below, one beside the positive: (3 + 0.5) / 4.
  expect(auc([0, 1, 0], [3, 1, 0])).toBe(0.875)
})
