/** @file How long gradients and weights of a batch are. Looked at now and then, where both are in memory already: a fraction of a percent of a step. */
import type { Norms } from '../../base/event/index.ts'
import type { WorkspaceKernel } from '../../base/kernel/index.ts'
import type { BatchParams, DenseLayout } from '../../weights/params/index.ts'

export function normsOf(
  share: BatchParams,
  { trainable }: DenseLayout,
  kernel: WorkspaceKernel,
  room: ArrayBufferLike,
): Norms {
  const squares = (values: Float32Array) =>
    values.buffer === room ? kernel.sumSquares(values.byteOffset, values.length) : sumSquares(values)
  const all = (runs: readonly Float32Array[]) => Math.sqrt(runs.reduce((sum, run) => sum + squares(run), 0))
  return {
    weights: all([share.weights.subarray(0, trainable)]),
    gradients: all([share.gradients.subarray(0, trainable)]),
    rows: all(share.tables.map(({ rows }) => rows)),
    rowGradients: all(share.tables.map(({ gradients }) => gradients)),
  }
}

/** What lies in memory that the kernel does not see. */
function sumSquares(values: Float32Array): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]! * values[i]!
  return sum
}
