/** @file The order in which a reader gives sequences: mixed anew in each epoch, yet of like length within a batch, since a batch is padded to its longest. */
import type { Rng } from '../../base/util/index.ts'

/** Options of bucketedByLength. */
export interface BucketOptions<T> {
  readonly lengthOf: (sample: T) => number
  /** Samples of a batch: `runner.train_batch_size`. */
  readonly batchSize: number
  /** Of `this.pass.seed`, so that epochs differ and runs do not. */
  readonly random: Rng
  /** Batches that are sorted by length together: more of them pad less, fewer mix better. @default 50 */
  readonly window?: number | undefined
}

/** All samples in random order; the same list, changed in place. */
export function shuffled<T>(samples: T[], random: Rng): T[] {
  for (let i = samples.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[samples[i], samples[j]] = [samples[j]!, samples[i]!]
  }
  return samples
}

/**
 * Samples in random order, sorted by length within windows of some batches, whose batches then come in random order. A batch that is not full
 * comes last, so that batches of the reader are those of the trainer.
 */
export function bucketedByLength<T>(
  samples: readonly T[],
  { lengthOf, batchSize, random, window = 50 }: BucketOptions<T>,
): T[] {
  const mixed = shuffled([...samples], random)
  const batches: T[][] = []
  for (let at = 0; at < mixed.length; at += window * batchSize) {
    const sorted = mixed.slice(at, at + window * batchSize).sort((a, b) => lengthOf(a) - lengthOf(b))
    for (let i = 0; i < sorted.length; i += batchSize) batches.push(sorted.slice(i, i + batchSize))
  }
  const isFull = (batch: T[]) => batch.length === batchSize
  const full = shuffled(batches.filter(isFull), random)
  return [...full, ...batches.filter((batch) => !isFull(batch))].flat()
}
