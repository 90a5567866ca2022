/** @file Steps that are made of the batches of several processes: how large they are, and what that means for learning rates. */
import type { JobConfig, ScaleLr } from '../../base/config/index.ts'
import type { Cluster } from '../../base/env/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { timesRate } from '../../weights/optim/index.ts'

const FACTORS: { readonly [S in ScaleLr]: (batches: number) => number } = {
  none: () => 1,
  sqrt: Math.sqrt,
  linear: (batches) => batches,
}

/** Batches that are one step of a job with servers: in sync, where all threads of all workers step together, one of each. */
export function batchesInStep({ workerNum }: Pick<Cluster, 'workerNum'>, { runner }: JobConfig): number {
  return runner.sync_mode === 'sync' ? workerNum * runner.thread_num : 1
}

/** With learning rates as `runner.scale_lr` has them for steps of so many batches. Rules of accessors have their own rates. */
export function scaledModel(model: TracedModel, { runner }: JobConfig, batches: number): TracedModel {
  const factor = FACTORS[runner.scale_lr](batches)
  if (factor === 1) return model
  const tables = Object.entries(model.tableOptimizers).map(([name, spec]) => [name, timesRate(spec, factor)])
  return { ...model, optimizer: timesRate(model.optimizer, factor), tableOptimizers: Object.fromEntries(tables) }
}

/** `4 workers with batches of 512 make steps of 2048 samples`, and what follows for learning rates. */
export function largeStepText(who: string, { runner }: JobConfig, batches: number): string {
  const { train_batch_size: size, scale_lr } = runner
  const factor = FACTORS[scale_lr](batches)
  const rates =
    scale_lr === 'none'
      ? 'learning rates stay as they are'
      : `learning rates are ${Number(factor.toFixed(3))} times as large`
  return `${who} with batches of ${size} make steps of ${batches * size} samples; ${rates} (runner.scale_lr: ${scale_lr}).`
}
