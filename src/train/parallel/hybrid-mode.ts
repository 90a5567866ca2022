/** @file Hybrid training as a worker's mode: servers hold the rows, the group of workers the dense weights. */
import { type Group, openGroup, workersRing } from '../../collective/index.ts'
import type { Cluster } from '../../env/index.ts'
import type { LocalParams } from '../../params/index.ts'
import type { DenseState } from '../../ps/index.ts'
import { pushedPart } from '../pushed-part.ts'
import { createParams } from '../runtime.ts'
import { type DenseKeeper, rowsMode, type WorkerMode, type WorkerModeOptions } from '../worker-mode.ts'
import type { HybridHandle } from './hybrid-params.ts'

/** The workers of a job with servers as a group. Says so. */
export async function openWorkers(
  cluster: Cluster,
  threads: number,
  notice: (message: string) => void,
): Promise<Group> {
  const group = await openGroup(workersRing(cluster), notice)
  notice(`Hybrid: rows are on servers, dense gradients are averaged among the workers by ${group.description}.`)
  if (threads > 1) notice(`runner.thread_num ${threads}: a worker of a hybrid job trains on one thread; start more.`)
  return group
}

export function hybridMode(options: WorkerModeOptions, group: Group): WorkerMode {
  const { config, model } = options
  const { train, optimizer, dygraph } = model
  const program = { state: train.state, tables: [] }
  const own = { ...model, train: { ...train, tables: [] } }
  const local = createParams({ ...config, table_parameters: {} }, own, { optimizer, tableOptimizers: {} }, 1, true)
  const rows = rowsMode(options)
  return {
    ...rows,
    pool: { ahead: 3 },
    dense: keeper(local, group),
    params: (thread): HybridHandle => ({
      kind: 'hybrid',
      rows: rows.params(thread),
      dense: {
        ...{ kind: 'parallel', local: local.handle, seat: group.seat(), program, groups: [], sharded: [] },
        segments: config.runner.table_segments,
        differ: dygraph !== undefined || pushedPart(train, local.dense.layout) !== undefined,
      },
    }),
  }
}

/** All ranks have the same dense weights: each is as good as the others. */
function keeper({ dense }: LocalParams, group: Group): DenseKeeper {
  const take = ({ bytes, steps }: DenseState) => {
    dense.bytes().set(bytes)
    dense.restoreSteps(steps)
  }
  return {
    read: async () => ({ bytes: dense.bytes(), steps: dense.steps }),
    write: async (state) => take(state),
    spread: async () => {
      const steps = Int32Array.of(dense.steps)
      await group.broadcast(steps)
      await group.broadcast(dense.bytes())
      dense.restoreSteps(steps[0]!)
    },
  }
}
