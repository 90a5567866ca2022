/**
 * @file What a job of trainers agrees on before it begins. Servers are started without a configuration: every trainer says to every
 * server who it is as soon as it starts (tell-servers.ts), and later what it trains. When all have come and agree, the servers make
 * their parts of the model (hear-trainers.ts).
 */
import { type Env, jobSecrets } from '../env/index.ts'
import type { TracedModel } from '../model/index.ts'
import type { Identity } from '../net/index.ts'
import { programHash } from '../program/index.ts'
import { setUpError } from './errors.ts'
import type { TrainerOptions } from './option-table.ts'

/** What a server is told; every trainer tells the same. */
export interface SetUp {
  readonly model: TracedModel
  readonly seed: number
  readonly trainers: number
  readonly servers: readonly string[]
  readonly tableServers?: number
  /** Of this host's ports, in their order. */
  readonly ranks: readonly number[]
}

export type Ports = Pick<TrainerOptions, 'port' | 'ports_num' | 'ports_num_for_sparse'>

/** `told`: a SetUp; answered when all trainers have told the same. `awaited`: answered by who has not, in words. */
export const SET_UP_METHODS = { told: 1, awaited: 2 } as const
/** A fact of a trainer's hello: how many trainers there are. */
export const TRAINERS = 'trainers'
export const START_TIMEOUT_MS = 5 * 60 * 1000
/** Both sides trace models and make tables meanwhile, and say nothing as long; who is gone closes its connection. */
export const BUSY_MS = 60_000

/** The job's own names for what tells it from others. */
export function jobEnv(env: Env): Env {
  return { ...env, OARFISH_JOB_ID: env['OARFISH_JOB'] ?? env['OARFISH_JOB_ID'] }
}

/** The first trainer that trains something else than trainer 0, and in what it differs. */
export function disagreement(all: readonly (readonly [number, SetUp])[]): Error | undefined {
  const [, first] = all[0]!
  for (const [rank, own] of all) {
    const difference = Object.entries(FACTS).find(([, fact]) => fact(own) !== fact(first))
    if (difference)
      return setUpError(
        `trainer[${rank}] and trainer[0] differ in ${difference[0]}.`,
        'Start every trainer with the same options, configuration and data description (meta).',
      )
  }
  return undefined
}

const FACTS: Readonly<Record<string, (told: SetUp) => unknown>> = {
  'the list of servers': ({ servers }) => servers.join(),
  'the seed': ({ seed }) => seed,
  'the network': ({ model }) => programHash(model.train),
  'the learning method': ({ model }) => JSON.stringify([model.optimizer, model.tableOptimizers]),
}

/** A server does not know the job's list yet, so nothing can be derived from it: without a token any trainer may come. */
export function identityOf(options: Ports, env: Env, role: 'worker' | 'server', rank: number): Identity {
  const { jobId, token } = jobSecrets(jobEnv(env), { servers: [], workerNum: 0 })
  const ports = `${options.ports_num} + ${options.ports_num_for_sparse}`
  return { jobId, token, role, rank, agreement: { 'number of ports (--ports_num + --ports_num_for_sparse)': ports } }
}
