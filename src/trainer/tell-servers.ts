/** @file A trainer's half of the set-up: it calls every server when it starts, tells them what it trains, and leaves when it has joined the job. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import type { TracedModel } from '../model/index.ts'
import { Peer, reach, sayHello, socketTransport } from '../net/index.ts'
import type { ServerPlan } from './endpoints.ts'
import type { TrainerOptions } from './option-table.ts'
import { BUSY_MS, identityOf, SET_UP_METHODS, type SetUp, START_TIMEOUT_MS, TRAINERS } from './set-up.ts'

export interface CallOptions {
  readonly plan: ServerPlan
  readonly options: TrainerOptions
  readonly env: Env
  readonly emit: EventSink
}

/** Connections that stand from a trainer's first moment until it has joined the job: should it end before, all others hear of it. */
export interface ServerCalls {
  /** Aborted with the reason when a process of the job is gone. */
  readonly lost: AbortSignal
  /** Returns when all trainers have told all servers the same; rejects when one differs or is gone. */
  tell(model: TracedModel): Promise<void>
  /** This trainer has joined the job. */
  leave(): Promise<void>
  /** This trainer ends before it has; returns when the servers that can be reached know why. */
  abort(reason: Error): Promise<void>
}

/** How long a trainer that ends looks for servers to tell them. */
const LAST_WORDS_MS = 2000

/** Begins to connect, and returns at once. */
export function callServers({ plan, options, env, emit }: CallOptions): ServerCalls {
  const { trainer_id: rank, num_gradient_servers: trainers, seed } = options
  const identity = identityOf(options, env, 'worker', rank)
  const { servers, tableServers } = plan
  const lost = new AbortController()
  let isSlow = false
  const call = async (endpoint: string): Promise<Peer> => {
    const who = `server ${endpoint}`
    const { connection } = await reach({
      ...{ transport: socketTransport, endpoint, who, timeoutMs: START_TIMEOUT_MS, signal: lost.signal },
      greet: (fresh) => sayHello(fresh, who, identity, { [TRAINERS]: String(trainers) }),
      onWait: (reason) => emit({ kind: 'notice', message: `Waiting for ${who} (${reason}).` }),
    })
    const peer: Peer = new Peer(connection, {
      who,
      deadAfterMs: BUSY_MS,
      onLost: (error) => lost.abort(error),
      onSlow: (what) => {
        if (what !== WAITING || isSlow) return
        isSlow = true
        tellAwaited(peer, emit).catch(() => undefined) // the wait itself says what happened
      },
    })
    return peer
  }
  const calls = plan.hosts.map(call)
  // Thrown where somebody waits for it.
  for (const one of calls) one.catch(() => undefined)
  const peers = async () =>
    (await Promise.allSettled(calls)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  return {
    lost: lost.signal,
    tell: async (model) => {
      const tell = async (one: Promise<Peer>, host: number) => {
        const told: SetUp = {
          ...{ model, seed, trainers, servers, ranks: plan.ranks[host]! },
          ...(tableServers !== undefined && { tableServers }),
        }
        const body = Buffer.from(JSON.stringify(told))
        await (await one).request(SET_UP_METHODS.told, [body], { timeoutMs: START_TIMEOUT_MS, what: WAITING })
      }
      await Promise.all(calls.map(tell)).catch((error: unknown) => {
        throw lost.signal.aborted ? lost.signal.reason : error
      })
    },
    leave: async () => {
      for (const peer of await peers()) peer.leave()
    },
    abort: async (reason) => {
      await Promise.race([Promise.allSettled(calls), sleep(LAST_WORDS_MS, undefined, { ref: false })])
      lost.abort(reason)
      for (const peer of await peers()) peer.abort(reason)
    },
  }
}

const WAITING = 'the other trainers'

async function tellAwaited(peer: Peer, emit: EventSink): Promise<void> {
  const answer = await peer.request(SET_UP_METHODS.awaited, [], { timeoutMs: BUSY_MS, what: 'who is awaited' })
  emit({ kind: 'notice', message: Buffer.from(answer).toString('utf8') })
}
