/** @file One process whose trainer threads take batches as they come: real threads, so that no two runs are the same. */
import { openDevice } from '../../src/base/device/index.ts'
import type { Batch } from '../../src/data/index.ts'
import type { TracedModel } from '../../src/model/index.ts'
import { createGate } from '../../src/training/threads/gate.ts'
import { TrainerPool } from '../../src/training/threads/trainer-pool.ts'
import type { LocalParams } from '../../src/weights/params/index.ts'

export interface ThreadsOptions {
  readonly model: TracedModel
  readonly params: LocalParams
  readonly threads: number
  readonly seed: number
  readonly segments: number
  readonly batchSize: number
  readonly train: readonly Batch[]
}

export async function trainThreads(options: ThreadsOptions): Promise<void> {
  const { model, params, threads, seed, segments, batchSize, train } = options
  const { slots, metrics, optimizer } = model
  const device = openDevice({ device: 'cpu' }, {}, () => undefined)
  const pool = await TrainerPool.open(
    Array.from({ length: threads }, (_, thread) => ({
      ...{ thread, engine: 'ort' as const, gate: createGate(), device, slots, metrics, segments, seed },
      programs: { train: model.train, infer: undefined },
      params: params.handle,
      batchSizes: { train: batchSize, infer: batchSize },
      clip: optimizer.clip,
    })),
  )
  try {
    for (const batch of train) await pool.submit('train', batch, false)
    await pool.finish('train')
  } finally {
    await pool.close()
  }
}
