import { expect, test } from 'vitest'
import { AUC_THRESHOLDS, emptyAuc } from './auc.ts'
import { calibrationOf } from './calibration.ts'

test('parts have about equally many samples and say what was predicted and what happened', () => {
  const histogram = emptyAuc()
  const count = (prediction: number, positives: number, negatives: number) => {
    const bucket = Math.floor(prediction * AUC_THRESHOLDS)
    histogram[bucket] = positives
    histogram[AUC_THRESHOLDS + 1 + bucket] = negatives
  }
  count(0.1, 10, 90)
  count(0.3, 50, 50)
  count(0.8, 80, 20)
  const parts = calibrationOf(histogram, 3)
  expect(parts.map(({ samples }) => samples)).toEqual([100, 100, 100])
  expect(parts.map(({ happened }) => happened)).toEqual([0.1, 0.5, 0.8])
  for (const [i, predicted] of [0.1, 0.3, 0.8].entries()) expect(parts[i]!.predicted).toBeCloseTo(predicted, 3)
  expect(calibrationOf(emptyAuc())).toEqual([])
})
