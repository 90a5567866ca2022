/** @file What all processes of a Fleet program must agree on: how they introduce themselves, and which server owns a sign. */
import { createHash } from 'node:crypto'
import type { Cluster } from '../../base/env/index.ts'
import type { Identity } from '../../base/net/index.ts'
import { programHash } from '../../graph/program/index.ts'
import { identityOf, shardsOf } from '../../training/ps/index.ts'
import type { Placement } from '../../weights/table/index.ts'
import type { SettledStrategy, TrainingProgram } from './training-program.ts'

export function fleetIdentity(cluster: Cluster, program: TrainingProgram, strategy: SettledStrategy): Identity {
  const { train, optimizer, tableOptimizers } = program.model
  const rules = createHash('sha256').update(JSON.stringify([optimizer, tableOptimizers, strategy.tableParameters]))
  return identityOf(cluster, {
    strategy: strategy.mode === 'geo' ? `geo every ${strategy.geoStep} batches` : strategy.mode,
    program: programHash(train).slice(0, 12),
    optimizer: rules.digest('hex').slice(0, 12),
    'random seed': String(program.seed),
    'table segments': String(program.segments ?? DEFAULT_SEGMENTS),
  })
}

/** The shards that tables ask for, dealt out to the servers in order. */
export function placementOf({ servers, tableServers }: Cluster, { tableParameters }: SettledStrategy): Placement {
  const shards = shardsOf({ table_parameters: tableParameters }, servers.length)
  return { servers: servers.length, shards, tableServers }
}

/** As runner.table_segments. */
export const DEFAULT_SEGMENTS = 4
