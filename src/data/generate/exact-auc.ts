/** @file The area under the ROC curve of scores that are all kept: for generated data, where the truth is known. */

/** Probability that a positive scores above a negative, ties counting half. */
export function exactAuc(positives: Float64Array, negatives: Float64Array): number {
  const [above, below] = [positives.slice().sort(), negatives.slice().sort()]
  let wins = 0
  let lower = 0
  let notHigher = 0
  for (const score of above) {
    while (lower < below.length && below[lower]! < score) lower++
    while (notHigher < below.length && below[notHigher]! <= score) notHigher++
    wins += (lower + notHigher) / 2
  }
  return wins / (above.length * below.length)
}
