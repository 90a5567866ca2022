/** @file A trainer's half of the set-up: it connects to every server when it starts, announces what it trains, and leaves when it has joined the job. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { clientHandshake, Peer, reach, socketTransport } from '../../base/net/index.ts'
import type { TracedModel } from '../../model/index.ts'
import type { ServerPlan } from './endpoints.ts'
import type { TrainerOptions } from './option-table.ts'
import { BUSY_MS, busyMs, identityOf, SET_UP_METHODS, type SetUp, START_TIMEOUT_MS, TRAINERS } from './set-up.ts'

export interface ConnectOptions {
  readonly plan: ServerPlan
  readonly options: TrainerOptions
  readonly env: Env
  readonly emit: EventSink
}

/** Connections that stand from a trainer's first moment until it has joined the job: should it end before, all others learn of it. */
export interface SetUpConnections {
  /** Aborted with the reason when a process of the job is gone. */
  readonly lost: AbortSignal
  /** Returns when all trainers have announced the same to all servers; rejects when one differs or is gone. */
  announce(model: TracedModel): Promise<void>
  /** This trainer has joined the job. */
  leave(): Promise<void>
  /** This trainer ends before it has; returns when the servers that can be reached know why. */
  abort(reason: Error): Promise<void>
}

/** How long a trainer that ends looks for servers, to leave its reason with them: those of a busy host come up in seconds. */
const LAST_WORDS_MS = 15_000
/** When it says what it still does. */
const NOTICE_AFTER_MS = 1000

/** Begins to connect, and returns at once. */
export function connectToServers({ plan, options, env, emit }: ConnectOptions): SetUpConnections {
  const { trainer_id: rank, num_gradient_servers: trainers, seed } = options
  const identity = identityOf(options, env, 'worker', rank)
  const { servers, tableServers } = plan
  const lost = new AbortController()
  let isSlow = false
  const connect = async (endpoint: string): Promise<Peer> => {
    const who = `server ${endpoint}`
    const { connection } = await reach({
      transport: socketTransport,
      endpoint,
      who,
      timeoutMs: START_TIMEOUT_MS,
      signal: lost.signal,
      tls: identity.tls,
      greet: (fresh) => clientHandshake(fresh, who, identity, { [TRAINERS]: String(trainers) }),
      onWait: (reason) => emit({ kind: 'notice', message: `Waiting for ${who} (${reason}).` }),
    })
    const peer: Peer = new Peer(connection, {
      who,
      deadAfterMs: busyMs(identity),
      onLost: (error) => lost.abort(error),
      onSlow: (what) => {
        if (what !== WAITING || isSlow) return
        isSlow = true
        printAwaited(peer, emit).catch(() => undefined) // the wait itself says what happened
      },
    })
    return peer
  }
  const connections = plan.hosts.map(connect)
  // Thrown where somebody waits for it.
  for (const one of connections) one.catch(() => undefined)
  const peers = async () =>
    (await Promise.allSettled(connections)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  return {
    lost: lost.signal,
    announce: async (model) => {
      const announce = async (one: Promise<Peer>, host: number) => {
        const setUp: SetUp = { model, seed, trainers, servers, tableServers, ranks: plan.ranks[host]! }
        const body = Buffer.from(JSON.stringify(setUp))
        await (await one).request(SET_UP_METHODS.announce, [body], { timeoutMs: START_TIMEOUT_MS, what: WAITING })
      }
      await Promise.all(connections.map(announce)).catch((error: unknown) => {
        throw lost.signal.aborted ? lost.signal.reason : error
      })
    },
    leave: async () => {
      for (const peer of await peers()) peer.leave()
    },
    abort: async (reason) => {
      const message = `This trainer ends: ${reason.message} It still looks for servers that do not know.`
      const notice = setTimeout(() => emit({ kind: 'notice', message }), NOTICE_AFTER_MS)
      await Promise.race([Promise.allSettled(connections), sleep(LAST_WORDS_MS, undefined, { ref: false })])
      clearTimeout(notice)
      lost.abort(reason)
      for (const peer of await peers()) peer.abort(reason)
    },
  }
}

const WAITING = 'the other trainers'

async function printAwaited(peer: Peer, emit: EventSink): Promise<void> {
  const answer = await peer.request(SET_UP_METHODS.awaited, [], { timeoutMs: BUSY_MS, what: 'who is awaited' })
  emit({ kind: 'notice', message: Buffer.from(answer).toString('utf8') })
}
