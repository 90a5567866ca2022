/** @file What `npm run bench -- --compare` calls a loss. */
import { expect, test } from 'vitest'
import { compare } from '../bench/noise.ts'

test('rounds that differ by chance are within their noise', () => {
  const { ratio, low, high } = compare([100, 96, 103, 99, 102], [99, 101, 100, 98, 103])
  expect(ratio).toBeCloseTo(0.99, 1)
  expect([low < 1, high > 1]).toEqual([true, true])
})

test('a loss in every round is beyond it, also where the machine changes its pace', () => {
  const base = [100, 60, 110, 85, 97]
  const { ratio, high } = compare(
    base.map((rate, round) => rate * (0.93 + 0.005 * round)),
    base,
  )
  expect(ratio).toBeCloseTo(0.94, 6)
  expect(high).toBeLessThan(0.97)
})

test('the same rounds give the same answer', () => {
  const [here, there] = [
    [5, 6, 7, 5, 6],
    [6, 6, 6, 6, 6],
  ]
  expect(compare(here, there)).toEqual(compare(here, there))
})
