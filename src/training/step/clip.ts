/** @file Gradient clipping: by the worker, over what it is about to push. */
import type { WorkspaceKernel } from '../../base/kernel/index.ts'
import type { Clip } from '../../weights/optim/index.ts'
import type { BatchParams, DenseLayout } from '../../weights/params/index.ts'

/** Limits the gradients of a share in place. `norm` limits each parameter and each table by itself, `global_norm` all together. */
export function clipGradients(clip: Clip, kernel: WorkspaceKernel, share: BatchParams, layout: DenseLayout): void {
  const runs = gradientRuns(share, layout)
  if (clip.kind === 'value') {
    for (const { byteOffset, length } of runs) kernel.clamp(byteOffset, length, clip.min ?? -clip.max, clip.max)
    return
  }
  const groups = clip.kind === 'norm' ? runs.map((run) => [run]) : [runs]
  for (const group of groups) {
    const norm = Math.sqrt(
      group.reduce((sum, { byteOffset, length }) => sum + kernel.sumSquares(byteOffset, length), 0),
    )
    if (norm <= clip.max) continue
    for (const { byteOffset, length } of group) kernel.scale(byteOffset, length, clip.max / norm)
  }
}

/** Every gradient as a view into the workspace. */
function gradientRuns({ tables, gradients }: BatchParams, { entries }: DenseLayout): Float32Array[] {
  const dense = entries.filter(({ trainable }) => trainable).map(({ at, size }) => gradients.subarray(at, at + size))
  return [...dense, ...tables.map((table) => table.gradients)]
}
