/**
 * @file How servers learn what they serve: they are started without a configuration, and every trainer tells every server
 * once who it is and what it trains. When all have come and agree, the servers make their parts of the model.
 */
import { type Env, jobSecrets } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import type { TracedModel } from '../model/index.ts'
import {
  type Connection,
  hearHello,
  type Identity,
  Peer,
  reach,
  SilentCaller,
  sayHello,
  socketTransport,
} from '../net/index.ts'
import { programHash } from '../program/index.ts'
import type { ServerPlan } from './endpoints.ts'
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

type Ports = Pick<TrainerOptions, 'port' | 'ports_num' | 'ports_num_for_sparse'>

const SET_UP = 1
const START_TIMEOUT_MS = 5 * 60 * 1000
/** Both sides trace models and make tables meanwhile, and say nothing as long; who is gone closes its connection. */
const BUSY_MS = 30_000

/** The job's own names for what tells it from others. */
export function jobEnv(env: Env): Env {
  return { ...env, OARFISH_JOB_ID: env['OARFISH_JOB'] ?? env['OARFISH_JOB_ID'] }
}

export interface TellOptions {
  readonly plan: ServerPlan
  readonly options: TrainerOptions
  readonly model: TracedModel
  readonly env: Env
  readonly emit: EventSink
}

/** A trainer's half: returns when all trainers have told all servers the same. */
export async function tellServers({ plan, options, model, env, emit }: TellOptions): Promise<void> {
  const { trainer_id: rank, num_gradient_servers: trainers, seed } = options
  const identity = identityOf(options, env, 'worker', rank)
  const { servers, tableServers } = plan
  const tell = async (endpoint: string, host: number) => {
    const who = `server ${endpoint}`
    const { connection } = await reach({
      ...{ transport: socketTransport, endpoint, who, timeoutMs: START_TIMEOUT_MS },
      greet: (fresh) => sayHello(fresh, who, identity),
      onWait: (reason) => emit({ kind: 'notice', message: `Waiting for ${who} (${reason}).` }),
    })
    const peer = new Peer(connection, { who, deadAfterMs: BUSY_MS })
    const told: SetUp = {
      ...{ model, seed, trainers, servers, ranks: plan.ranks[host]! },
      ...(tableServers !== undefined && { tableServers }),
    }
    const body = Buffer.from(JSON.stringify(told))
    await peer.request(SET_UP, [body], { timeoutMs: START_TIMEOUT_MS, what: 'the other trainers' })
    peer.leave()
  }
  await Promise.all(plan.hosts.map(tell))
}

export interface HearOptions {
  readonly endpoint: string
  /** How many must come. @default what the first of them says */
  readonly trainers?: number
  readonly options: Ports
  readonly env: Env
  readonly emit: EventSink
  readonly signal: AbortSignal
  /** @default 5 minutes */
  readonly startTimeoutMs?: number
}

/** A server's half: resolves when all trainers have come and agree. Rejects when one differs, is gone, or does not come. */
export function hearTrainers(given: HearOptions): Promise<SetUp> {
  const { endpoint, options, env, emit, signal, startTimeoutMs = START_TIMEOUT_MS } = given
  const identity = identityOf(options, env, 'server', 0)
  const come = new Map<number, { readonly told: SetUp; readonly answer: (error?: Error) => void }>()
  const here = new Set<number>()
  return new Promise((resolve, reject) => {
    let isOver = false
    const end = (error?: Error) => {
      if (isOver) return
      isOver = true
      clearTimeout(late)
      signal.removeEventListener('abort', stop)
      void listening.then(
        (listener) => listener.close(),
        () => undefined,
      )
      for (const { answer } of come.values()) answer(error)
      if (error) reject(error)
      else resolve(come.get(0)!.told)
    }
    const stop = () =>
      end(setUpError('The server was told to stop before its trainers had come.', 'Start the job again.'))
    const hear = (rank: number, told: SetUp, answer: (error?: Error) => void) => {
      come.set(rank, { told, answer })
      const { trainers = come.get(0)?.told.trainers ?? told.trainers } = given
      if (come.size < trainers) return
      end(disagreement([...come].sort(([a], [b]) => a - b).map(([trainer, { told: own }]) => [trainer, own])))
    }
    const admit = async (connection: Connection) => {
      const { rank } = await hearHello(connection, identity, (peer) =>
        here.has(peer.rank)
          ? { refusal: `there is a trainer ${peer.rank} already`, hint: 'give every trainer a --trainer_id of its own' }
          : undefined,
      )
      here.add(rank)
      new Peer(connection, {
        who: `trainer[${rank}] ${connection.remote}`,
        deadAfterMs: BUSY_MS,
        handle: (_, body) =>
          new Promise((answered, failed) => {
            const told = JSON.parse(Buffer.from(body).toString('utf8')) as SetUp
            hear(rank, told, (error) => (error ? failed(error) : answered([])))
          }),
        onLost: (error) => end(error),
      })
    }
    const accept = (connection: Connection) => {
      admit(connection).catch((error: unknown) => {
        connection.close()
        if (!(error instanceof SilentCaller))
          emit({ kind: 'warning', message: `A connection was refused: ${(error as Error).message}` })
      })
    }
    const listening = socketTransport.listen(endpoint, accept)
    const late = setTimeout(() => end(tooLate(given.trainers, here.size, startTimeoutMs)), startTimeoutMs)
    signal.addEventListener('abort', stop)
    listening.then(
      () => emit({ kind: 'notice', message: `The server waits for its trainers at ${endpoint}.` }),
      (error: Error) =>
        end(
          setUpError(
            `The server cannot listen at ${endpoint}: ${error.message}.`,
            'Give another --port to every process of the job, or end what listens there.',
            error,
          ),
        ),
    )
  })
}

/** The first trainer that trains something else than trainer 0, and in what it differs. */
function disagreement(all: readonly (readonly [number, SetUp])[]): Error | undefined {
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
  'the number of trainers': ({ trainers }) => trainers,
  'the list of servers': ({ servers }) => servers.join(),
  'the seed': ({ seed }) => seed,
  'the network': ({ model }) => programHash(model.train),
  'the learning method': ({ model }) => JSON.stringify([model.optimizer, model.tableOptimizers]),
}

function tooLate(trainers: number | undefined, here: number, timeoutMs: number): Error {
  return setUpError(
    `${here} of ${trainers ?? 'the'} trainers came in ${timeoutMs / 1000} s.`,
    'Start every trainer, and check that it reaches this host at --port.',
  )
}

/** A server does not know the job's list yet, so nothing can be derived from it: without a token any trainer may come. */
function identityOf(options: Ports, env: Env, role: 'worker' | 'server', rank: number): Identity {
  const { jobId, token } = jobSecrets(jobEnv(env), { servers: [], workerNum: 0 })
  const ports = `${options.ports_num} + ${options.ports_num_for_sparse}`
  return { jobId, token, role, rank, agreement: { 'number of ports (--ports_num + --ports_num_for_sparse)': ports } }
}
