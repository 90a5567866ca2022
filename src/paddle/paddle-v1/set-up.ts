/**
 * @file What a job of trainers agrees on before it begins. Servers are started without a configuration: every trainer connects to every
 * server as soon as it starts (set-up-trainer.ts), and later announces what it trains. When all have come and agree, the servers make
 * their parts of the model (set-up-server.ts).
 */
import { type Env, jobSecrets } from '../../base/env/index.ts'
import {
  checkMessage,
  credentialsOf,
  fields,
  type Identity,
  list,
  optional,
  type Reader,
  text,
  whole,
} from '../../base/net/index.ts'
import { programHash } from '../../graph/program/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { setUpError } from './errors.ts'
import type { TrainerOptions } from './option-table.ts'

/** What a trainer announces to a server; the same from every trainer. */
export interface SetUp {
  readonly model: TracedModel
  readonly seed: number
  readonly trainers: number
  readonly servers: readonly string[]
  readonly tableServers?: number | undefined
  /** Of this host's ports, in their order. */
  readonly ranks: readonly number[]
}

// More than any job has.
const [MAX_TRAINERS, MAX_SERVERS] = [1_000_000, 100_000]

/** An announcement as it comes: numbers and addresses; the model is looked at by what makes the tables, after all trainers agree on it. */
export const readSetUp = fields<SetUp>({
  model: fieldsOfModel as Reader<TracedModel>,
  seed: whole(0, Number.MAX_SAFE_INTEGER),
  trainers: whole(1, MAX_TRAINERS),
  servers: list(text(300), MAX_SERVERS),
  tableServers: optional(whole(0, MAX_SERVERS)),
  ranks: list(whole(0, MAX_SERVERS), MAX_SERVERS),
})

/** What is there in every model; a program is checked by the verifier when it is used. */
function fieldsOfModel(value: unknown, at: string): unknown {
  const { train, optimizer } = (value ?? {}) as Partial<TracedModel>
  checkMessage(typeof train === 'object' && train !== null, `${at}: it has no program`)
  checkMessage(typeof optimizer === 'object' && optimizer !== null, `${at}: it has no optimizer`)
  return value
}

export type Ports = Pick<TrainerOptions, 'port' | 'ports_num' | 'ports_num_for_sparse'>

/** `announce`: a SetUp; answered when all trainers have announced the same. `awaited`: answered with a line about those that have not. */
export const SET_UP_METHODS = { announce: 1, awaited: 2 } as const
/** A fact of a trainer's hello: how many trainers there are. */
export const TRAINERS = 'trainers'
export const START_TIMEOUT_MS = 5 * 60 * 1000
/** Both sides trace models and make tables meanwhile, and are silent as long; a process that is gone closes its connection. */
export const BUSY_MS = 60_000
export const busyMs = ({ silenceMs = 0 }: Identity): number => Math.max(BUSY_MS, silenceMs)

/** The environment with the job's name where the rest of the package looks for it. */
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

const FACTS: Readonly<Record<string, (setUp: SetUp) => unknown>> = {
  'the list of servers': ({ servers }) => servers.join(),
  'the seed': ({ seed }) => seed,
  'the network': ({ model }) => programHash(model.train),
  'the learning method': ({ model }) => JSON.stringify([model.optimizer, model.tableOptimizers]),
}

/** A server does not know the job's list yet, so nothing can be derived from it: without a token any trainer may come. */
export function identityOf(options: Ports, env: Env, role: 'worker' | 'server', rank: number): Identity {
  const secrets = credentialsOf(jobSecrets(jobEnv(env), { servers: [], workerNum: 0 }), [])
  const ports = `${options.ports_num} + ${options.ports_num_for_sparse}`
  return { ...secrets, role, rank, agreement: { 'number of ports (--ports_num + --ports_num_for_sparse)': ports } }
}
