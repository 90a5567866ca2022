/** @file What all processes of a job must agree on, and how each introduces itself. */
import { createHash } from 'node:crypto'
import type { JobConfig } from '../../base/config/index.ts'
import { type Cluster, tokenWarning } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { credentialsOf, type Identity } from '../../base/net/index.ts'
import { UserError } from '../../base/util/index.ts'
import { programHash } from '../../graph/program/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { checkTableNames, DEFAULT_SHARDS } from '../../weights/table/index.ts'
import { PS_MODES, type PsMode } from './server.ts'

/** Keys of the runner that every process must have alike. Not the data's paths: they may differ from host to host. */
const AGREED = [
  ...(['seed', 'thread_num', 'train_batch_size', 'epochs'] as const),
  ...(['geo_step', 'geo_dense_step', 'geo_delta', 'max_staleness', 'table_segments'] as const),
]

export function jobIdentity(cluster: Cluster, config: JobConfig, model: TracedModel): Identity {
  const { runner, hyper_parameters, table_parameters } = config
  checkTableNames(table_parameters, model.train.tables)
  return identityOf(withRunner(cluster, config), {
    sync_mode: runner.sync_mode,
    fleet_mode: runner.fleet_mode,
    model: programHash(model.train).slice(0, 12),
    optimizer: digest([model.optimizer, model.tableOptimizers]),
    config: digest([...AGREED.map((key) => runner[key]), hyper_parameters, table_parameters]),
  })
}

/** With the keys that `runner.tls` asks for, where the environment names none, and the patience of `runner.silence_limit`. */
export function withRunner(cluster: Cluster, { runner }: JobConfig): Cluster {
  const { tls, silence_limit: seconds } = runner
  return { ...cluster, tls: cluster.tls ?? tls, silenceMs: seconds ? 1000 * seconds : cluster.silenceMs }
}

/** Says that nothing set the job's token, by the process that everybody looks at and unless its launcher has said it. */
export function warnOfToken(cluster: Cluster, emit: EventSink): void {
  const message = tokenWarning(cluster, cluster.workers.length > 0 || cluster.hosts !== undefined)
  if (message && cluster.rank === 0) emit({ kind: 'warning', message })
}

/** A process of a job, and what all of its processes must have alike besides their cluster. */
export function identityOf(cluster: Cluster, agreement: Identity['agreement']): Identity {
  const { rank, servers, workers, workerNum } = cluster
  const lists = { 'list of servers': servers.join(','), 'number of workers': String(workerNum) }
  return {
    ...credentialsOf(cluster, workers.length > 0 ? [...servers, ...workers] : []),
    rank,
    role: cluster.role === 'server' ? 'server' : 'worker',
    agreement: { ...lists, ...agreement },
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
