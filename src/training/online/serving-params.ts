/** @file Published rows as parameters of this process, to write an export from: weights alone, signs without a row as in training. */
import type { JobConfig } from '../../base/config/index.ts'
import type { PublishedRows } from '../../inference/versions/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { createLocalParams, LocalParams } from '../../weights/params/index.ts'

/** `trained` has the dense weights. */
export function servingParams(
  { runner }: JobConfig,
  { train }: TracedModel,
  trained: LocalParams,
  tables: readonly PublishedRows[],
): LocalParams {
  const zeros = { kind: 'constant', value: 0 } as const
  const program = {
    ...train,
    tables: train.tables.map((table, t) => (trained.tables[t]!.accessor ? { ...table, init: zeros } : table)),
  }
  const optimizer = { kind: 'sgd', learningRate: 0 } as const
  const { seed, table_segments: segments } = runner
  const handle = createLocalParams({ program, optimizer, seed, segments, threads: 1, plainTables: true })
  const params = new LocalParams(handle, 0)
  for (const [t, rows] of tables.entries()) {
    const { signs, weights } = rows.sorted()
    params.tables[t]!.load(signs, new Uint8Array(weights.buffer, weights.byteOffset, weights.byteLength))
  }
  const dense = new Float32Array(trained.dense.layout.floats)
  trained.dense.pull(dense)
  params.dense.bytes().set(new Uint8Array(dense.buffer))
  params.dense.restoreSteps(trained.dense.steps)
  return params
}
