/** @file Gradient clipping over what all ranks have merged, so that it limits what one process would have computed. */
import type { Clip } from '../../../weights/optim/index.ts'
import type { BatchParams, DenseLayout, Values } from '../../../weights/params/index.ts'
import type { Ranks } from './ranks.ts'

export interface ClipContext {
  readonly ranks: Ranks
  readonly layout: DenseLayout
  /** By table: every rank has its own part of the rows, instead of all having all. */
  readonly sharded: readonly boolean[]
}

/** Limits the gradients in place. Norms of sharded tables are those of all their parts. */
export async function clipMerged<V extends Values>(
  clip: Clip,
  { tables, gradients, dense }: BatchParams<V>,
  { ranks, layout, sharded }: ClipContext,
): Promise<void> {
  const entries = layout.entries.filter(({ trainable, name }) => trainable && (!dense || dense.has(name)))
  const runs = [
    ...entries.map(({ at, size }) => ({ values: gradients.subarray(at, at + size) as V, isPart: false })),
    ...tables.map(({ table, gradients: values }) => ({ values, isPart: sharded[table] === true })),
  ]
  if (clip.kind === 'value') {
    const [low, high] = [clip.min ?? -clip.max, clip.max]
    for (const { values } of runs)
      for (let i = 0; i < values.length; i++) values[i] = Math.min(high, Math.max(low, values[i]!))
    return
  }
  const squares = Float64Array.from(runs, ({ values }) => sumSquares(values))
  if (runs.some(({ isPart }) => isPart)) {
    const all = Float64Array.from(squares, (square, i) => (runs[i]!.isPart || ranks.rank === 0 ? square : 0))
    const finish = ranks.begin.allReduce(all, 'sum')
    await finish()
    squares.set(all)
  }
  const total = Math.sqrt(squares.reduce((sum, square) => sum + square, 0))
  for (const [i, { values }] of runs.entries()) {
    const norm = clip.kind === 'norm' ? Math.sqrt(squares[i]!) : total
    if (norm > clip.max) for (let k = 0; k < values.length; k++) values[k]! *= clip.max / norm
  }
}

function sumSquares(values: Values): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]! * values[i]!
  return sum
}
