import { expect, test } from 'vitest'
import type { ParityResult } from './parity.ts'
import { parityReport } from './report.ts'

const far = { what: 'loss', batch: 1, ours: 0.69, paddles: 1.11, distance: 0.42 } as const
const result: ParityResult = {
  matches: [],
  extra: [],
  batches: 3,
  differences: [far],
  training: true,
  rowsAhead: false,
  firstStep: { moved: 5204, byRounding: 5168 },
  agrees: false,
}

test('a training that parts after the first batch is explained by gradients that are rounding', () => {
  expect(parityReport(result, 1e-4)).toMatch(
    /Of 5204 dense weights that the first step moved, 5168 have gradients below a millionth of the largest[\s\S]*Compare without --training[\s\S]*does not agree/,
  )
})

test('a first batch that differs is not explained away', () => {
  expect(parityReport({ ...result, differences: [{ ...far, batch: 0 }] }, 1e-4)).not.toMatch(/rounding|--training/)
})

test('says when rows were trained by Paddle’s count of steps, and nothing of it without training', () => {
  const close = { ...result, differences: [{ ...far, distance: 1e-5 }], rowsAhead: true, agrees: true }
  expect(parityReport(close, 1e-4)).toMatch(/trained as Paddle trains them[\s\S]*The model agrees with Paddle\./)
  expect(parityReport(close, 1e-4)).not.toContain('Compare without')
  expect(parityReport({ ...result, training: false }, 1e-4)).not.toMatch(/rounding/)
})
