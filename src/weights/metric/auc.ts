/** @file AUC over a histogram of predictions, mergeable by adding buckets: threads, workers and resumed runs all sum. */

export const AUC_THRESHOLDS = 4096

/** Counts of positives, then of negatives, in AUC_THRESHOLDS + 1 buckets each. */
export type AucHistogram = Uint32Array | Float64Array

export const AUC_BUCKETS = 2 * (AUC_THRESHOLDS + 1)

export function emptyAuc(): Float64Array {
  return new Float64Array(AUC_BUCKETS)
}

export function addAuc(into: Float64Array, from: AucHistogram): void {
  for (let i = 0; i < into.length; i++) into[i]! += from[i]!
}

/** What `later` counts beyond `earlier`. */
export function differenceAuc(later: AucHistogram, earlier: AucHistogram | undefined): Float64Array {
  return Float64Array.from(later, (count, i) => count - (earlier?.[i] ?? 0))
}

/** The area by trapezoids from the highest bucket down; 0.5 when one class is missing. */
export function aucOf(histogram: AucHistogram): number {
  const half = histogram.length / 2
  let [positives, negatives, area] = [0, 0, 0]
  for (let bucket = half - 1; bucket >= 0; bucket--) {
    const [p, n] = [histogram[bucket]!, histogram[half + bucket]!]
    area += n * (positives + p / 2)
    positives += p
    negatives += n
  }
  return positives > 0 && negatives > 0 ? area / (positives * negatives) : 0.5
}

/** 0 or 1 where all samples have this label; undefined where both occur, and where there is no sample. */
export function onlyLabel(histogram: AucHistogram): 0 | 1 | undefined {
  const half = histogram.length / 2
  const [has1, has0] = [histogram.subarray(0, half), histogram.subarray(half)].map((part) => part.some((n) => n > 0))
  return has0 === has1 ? undefined : has1 ? 1 : 0
}
