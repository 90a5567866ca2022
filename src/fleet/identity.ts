/** @file How a process of a Fleet program introduces itself, and what all of them must agree on. */
import { createHash } from 'node:crypto'
import type { Cluster } from '../env/index.ts'
import type { Identity } from '../net/index.ts'
import { programHash } from '../program/index.ts'
import type { SettledStrategy } from './settle-strategy.ts'
import type { TrainingProgram } from './training-program.ts'

export function fleetIdentity(cluster: Cluster, program: TrainingProgram, strategy: SettledStrategy): Identity {
  const { train, optimizer, tableOptimizers } = program.model
  const rules = createHash('sha256').update(JSON.stringify([optimizer, tableOptimizers, strategy.tableParameters]))
  return {
    jobId: cluster.jobId,
    token: cluster.token,
    role: cluster.role === 'server' ? 'server' : 'worker',
    rank: cluster.rank,
    agreement: {
      'list of servers': cluster.servers.join(','),
      'number of workers': String(cluster.workerNum),
      strategy: strategy.mode === 'geo' ? `geo every ${strategy.geoStep} batches` : strategy.mode,
      program: programHash(train).slice(0, 12),
      optimizer: rules.digest('hex').slice(0, 12),
      'random seed': String(program.seed),
      'table segments': String(program.segments ?? DEFAULT_SEGMENTS),
    },
  }
}

/** As runner.table_segments. */
export const DEFAULT_SEGMENTS = 4
