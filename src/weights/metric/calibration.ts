/** @file How well predictions say what happens: the histogram of an AUC in some parts of about equally many samples, lowest predictions first. */
import type { CalibrationPart } from '../../base/event/index.ts'
import type { AucHistogram } from './auc.ts'

const PARTS = 20

export function calibrationOf(histogram: AucHistogram, parts = PARTS): CalibrationPart[] {
  const half = histogram.length / 2
  let all = 0
  for (const count of histogram) all += count
  const found: CalibrationPart[] = []
  let [samples, positives, sum, seen] = [0, 0, 0, 0]
  for (let bucket = 0; bucket < half; bucket++) {
    const [p, n] = [histogram[bucket]!, histogram[half + bucket]!]
    samples += p + n
    positives += p
    seen += p + n
    sum += (p + n) * ((bucket + 0.5) / half)
    const isFull = seen >= ((found.length + 1) * all) / parts
    if (samples === 0 || !(isFull || bucket === half - 1)) continue
    found.push({ to: (bucket + 1) / half, samples, predicted: sum / samples, happened: positives / samples })
    samples = 0
    positives = 0
    sum = 0
  }
  return found
}
