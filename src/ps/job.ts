/** @file What all processes of a job must agree on, and how each introduces itself. */
import { createHash } from 'node:crypto'
import type { JobConfig } from '../config/index.ts'
import type { Cluster } from '../env/index.ts'
import type { TracedModel } from '../model/index.ts'
import type { Identity } from '../net/index.ts'
import { programHash } from '../program/index.ts'
import { checkTableNames } from '../table/index.ts'
import { UserError } from '../util/index.ts'
import { DEFAULT_SHARDS } from './placement.ts'
import { PS_MODES, type PsMode } from './server.ts'

export function jobIdentity(cluster: Cluster, config: JobConfig, model: TracedModel): Identity {
  const { runner, hyper_parameters, table_parameters } = config
  checkTableNames(table_parameters, model.train.tables)
  const { seed, thread_num, train_batch_size, epochs, geo_step, geo_dense_step, geo_delta, table_segments } = runner
  return {
    jobId: cluster.jobId,
    token: cluster.token,
    role: cluster.role === 'server' ? 'server' : 'worker',
    rank: cluster.rank,
    agreement: {
      'list of servers': cluster.servers.join(','),
      'number of workers': String(cluster.workerNum),
      sync_mode: runner.sync_mode,
      fleet_mode: runner.fleet_mode,
      model: programHash(model.train).slice(0, 12),
      optimizer: digest([model.optimizer, model.tableOptimizers]),
      // Not the data's paths: they may differ from host to host.
      config: digest([
        seed,
        thread_num,
        train_batch_size,
        epochs,
        geo_step,
        geo_dense_step,
        geo_delta,
        table_segments,
        hyper_parameters,
        table_parameters,
      ]),
    },
  }
}

export function psMode({ runner }: JobConfig): PsMode {
  const mode = PS_MODES.find((known) => known === runner.sync_mode)
  if (mode) return mode
  throw new UserError(`runner.sync_mode: ${runner.sync_mode} is not a mode of CPU parameter servers`, {
    code: 'PS_MODE',
    hint: `set runner.sync_mode to one of ${PS_MODES.join(', ')}`,
  })
}

/** Whether servers hold rows only, while workers keep the dense weights among themselves. */
export function isHybrid({ runner }: JobConfig): boolean {
  if (runner.fleet_mode !== 'hybrid') return false
  if (runner.sync_mode === 'async') return true
  throw new UserError(`runner.fleet_mode: hybrid needs runner.sync_mode async, not ${runner.sync_mode}`, {
    code: 'PS_MODE',
    hint: 'set runner.sync_mode: async, or leave runner.fleet_mode out',
  })
}

/** table_parameters.*.shard_num, which must be one for all tables: their signs are dealt out together. */
export function shardsOf({ table_parameters }: Pick<JobConfig, 'table_parameters'>, servers: number): number {
  const asked = Object.entries(table_parameters).flatMap(([table, { shard_num }]) =>
    shard_num === undefined ? [] : [{ table, shard_num }],
  )
  const [first] = asked
  const other = asked.find(({ shard_num }) => shard_num !== first?.shard_num)
  if (first && other)
    throw new UserError(
      `table_parameters: shard_num is ${first.shard_num} for ${first.table} and ${other.shard_num} for ${other.table}; tables must have the same`,
      { code: 'PS_SHARDS', hint: `give both shard_num: ${first.shard_num}` },
    )
  const shards = first?.shard_num ?? DEFAULT_SHARDS
  if (shards >= servers) return shards
  throw new UserError(`table_parameters: shard_num ${shards} is less than the ${servers} servers, some would be idle`, {
    code: 'PS_SHARDS',
    hint: `raise shard_num to at least ${servers}`,
  })
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)
}
