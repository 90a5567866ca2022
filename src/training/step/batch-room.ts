/** @file A batch that does not fit into the memory of a trainer thread: what it wants, and the largest that fits. */
import { MOST_WORKSPACE_BYTES } from '../../base/kernel/index.ts'
import { sizeText, UserError } from '../../base/util/index.ts'
import type { Capacity } from './buffers.ts'

/** The batch that would fit is found by laying out smaller ones with `needs`: what a sample takes depends on the model. */
export function tooLargeBatch(
  { samples, signs, lengths }: Capacity,
  bytes: number,
  needs: (capacity: Capacity) => number,
): UserError {
  const fitting = (n: number) =>
    needs({ samples: n, signs: Math.ceil((signs / samples) * n), lengths }) <= MOST_WORKSPACE_BYTES
  let [fits, not] = [0, samples]
  while (not - fits > 1) {
    const middle = Math.floor((fits + not) / 2)
    if (fitting(middle)) fits = middle
    else not = middle
  }
  return new UserError(
    `A batch of ${samples.toLocaleString('en-US')} samples needs ${sizeText(bytes)} in each trainer thread; ${sizeText(MOST_WORKSPACE_BYTES)} fit.`,
    {
      code: 'DATA_BATCH',
      hint:
        fits > 0
          ? `The largest that fits is ${fits}: set runner.train_batch_size (or runner.infer_batch_size) to that or less.`
          : 'Not even one sample fits: leave out samples with millions of values, or make the embeddings smaller.',
    },
  )
}
