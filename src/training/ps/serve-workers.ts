/** @file The workers of one server: who is here, who has left, and what happens when one is gone. */
import type { EventSink } from '../../base/event/index.ts'
import {
  agreedSilence,
  type Connection,
  type Door,
  type Identity,
  LOCAL_PATH,
  Peer,
  type PeerIdentity,
  PROBE,
  type Pulse,
  readJson,
  Strangers,
  serverHandshake,
} from '../../base/net/index.ts'
import { defined, isUserError, UserError } from '../../base/util/index.ts'
import { workers as named, notAWorker, twoOfRank } from './errors.ts'
import type { InspectAnswer, InspectRequest } from './inspect.ts'
import { METHODS } from './protocol.ts'
import { checkRequest, readInspect } from './rules.ts'
import type { ParameterServer } from './server.ts'
import { LANES, type Lane } from './shard-threads.ts'
import { LINK_MEMORY, type LinkMemory, openLinkMemory, ServedThreads } from './thread-link.ts'

export interface ServeWorkersOptions {
  readonly server: ParameterServer
  readonly workers: number
  readonly identity: Identity
  readonly emit: EventSink
  /** @default as runner.silence_limit of either side */
  readonly deadAfterMs?: number | undefined
  /** By which workers know that this process lives, and it that they do. @default what comes over their connections */
  readonly pulse?: Pulse | undefined
  /** How long the main thread of a worker that lives may not run. @default 3 minutes */
  readonly stuckAfterMs?: number | undefined
  /** Answers those who look at the job without being part of it. @default nobody may look */
  readonly inspect?: ((request: InspectRequest) => Promise<InspectAnswer>) | undefined
  /** A worker is gone without a good-bye: what to end with, or undefined to go on without it. @default ends with the error */
  readonly onLost?: ((rank: number, error: Error) => Error | undefined) | undefined
  /** A unix socket where workers of this host may connect instead: faster than TCP. */
  readonly localPath?: string | undefined
  /** Further threads of this server, where trainer threads are served too. @default none */
  readonly lanes?: readonly Lane[] | undefined
}

export interface WorkerService {
  readonly accept: (connection: Connection) => void
  /** Who may connect at all. */
  readonly door: Door
  /** Resolves when every worker has left; rejects when one is gone, or did not come in time. */
  done(startTimeoutMs: number): Promise<void>
  /** Sends all workers the reason why it ends. */
  readonly stop: (reason: Error) => void
  /** Asks all workers to end in good order; resolves to whether every one will. */
  halt(): Promise<boolean>
}

/** A worker that said why it ends is about to: the launcher is to see it end before those that end because of it. */
const LAST_WORDS_MS = 1500
const HALT_MS = 10_000

export function serveWorkers(options: ServeWorkersOptions): WorkerService {
  return new ServedWorkers(options)
}

class ServedWorkers implements WorkerService {
  readonly #options: ServeWorkersOptions
  /** By rank. */
  readonly #peers = new Map<number, { readonly peer: Peer; readonly remote: string }>()
  readonly #threads: ServedThreads
  readonly #strangers: Strangers
  readonly #left = new Set<number>()
  #failure: Error | undefined
  #halted: Promise<boolean> | undefined
  #settle: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined

  constructor(options: ServeWorkersOptions) {
    this.#options = options
    this.#threads = new ServedThreads(options.server)
    const { hosts } = options.identity
    this.#strangers = new Strangers({ onWarning: (message) => options.emit({ kind: 'warning', message }), hosts })
  }

  get door(): Door {
    return this.#strangers
  }

  readonly accept = (connection: Connection): void => {
    void this.#strangers.guard(connection, (admitted) => this.#admit(admitted))
  }

  readonly stop = (reason: Error): void => {
    if (this.#failure) return
    this.#failure = reason
    for (const { peer } of this.#peers.values()) peer.abort(reason)
    this.#threads.abort(reason)
    this.#settle?.reject(reason)
  }

  halt(): Promise<boolean> {
    this.#halted ??= Promise.all([...this.#peers.values()].map(({ peer }) => askToHalt(peer))).then(
      (all) => all.length > 0 && all.every(Boolean),
    )
    return this.#halted
  }

  done(startTimeoutMs: number): Promise<void> {
    const { workers } = this.#options
    return new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject }
      if (this.#failure) reject(this.#failure)
      if (this.#left.size === workers) resolve()
      setTimeout(() => {
        const missing = Array.from({ length: workers }, (_, rank) => rank).filter((rank) => !this.#peers.has(rank))
        if (missing.length > 0) this.stop(didNotCome(missing, startTimeoutMs))
      }, startTimeoutMs).unref()
    })
  }

  async #admit(connection: Connection): Promise<void> {
    const { server, identity, inspect } = this.#options
    let memory: LinkMemory | undefined
    const factsFor = ({ facts }: PeerIdentity) => {
      memory = openLinkMemory(facts, server.store)
      return this.#facts(memory)
    }
    const object = (peer: PeerIdentity) => this.#objection(peer, connection)
    const worker = await serverHandshake(connection, identity, object, factsFor)
    const { rank, facts, role } = worker
    // A probe only asks where else it may connect; a thread whose memory is not seen here finds another way.
    if (facts[PROBE]) connection.close()
    else if (role === 'observer') this.#observe(connection, inspect!)
    else if (facts[LINK_MEMORY] === undefined) this.#serve(connection, rank, agreedSilence(identity, worker))
    else if (memory) this.#threads.add(connection, rank, memory)
    else connection.close()
  }

  #objection({ role, rank, facts }: PeerIdentity, { remote }: Connection) {
    const { inspect, workers } = this.#options
    if (role === 'observer' && inspect) return undefined
    if (role !== 'worker' || rank >= workers) return notAWorker(workers)
    const known = facts[LINK_MEMORY] === undefined ? this.#peers.get(rank) : undefined
    return known && twoOfRank(rank, known.remote, remote)
  }

  /** What the other side should know of this server. */
  #facts(memory: LinkMemory | undefined): PeerIdentity['facts'] {
    const { localPath, lanes = [], pulse } = this.#options
    return defined({
      ...pulse?.facts,
      [LOCAL_PATH]: localPath,
      [LINK_MEMORY]: memory && 'mapped',
      [LANES]: lanes.length > 0 ? JSON.stringify(lanes) : undefined,
    })
  }

  #serve(connection: Connection, rank: number, silenceMs: number): void {
    const { server, deadAfterMs = silenceMs, pulse, stuckAfterMs, emit } = this.#options
    const peer = new Peer(connection, {
      who: `worker[${rank}] ${connection.remote}`,
      handle: (method, body, keep) =>
        method === METHODS.halt ? this.#haltFor(rank, body) : server.handle(rank, method, body, { keep }),
      onLost: (error) => this.#lost(rank, error),
      onBye: () => this.#bye(rank),
      deadAfterMs,
      pulse: pulse && (() => pulse.of(rank)),
      stuckAfterMs,
      onStuck: (message) => emit({ kind: 'warning', message }),
    })
    this.#peers.set(rank, { peer, remote: connection.remote })
    if (this.#failure) peer.abort(this.#failure)
  }

  /** A worker was asked to stop: the others hear of it, since what they have learned is saved together. */
  #haltFor(rank: number, body: Uint8Array): [] {
    checkRequest('worker', METHODS.halt, body)
    const isFirst = this.#halted === undefined
    void this.halt()
    if (isFirst)
      this.#options.emit({ kind: 'notice', message: `worker[${rank}] is asked to stop: all stop and save together.` })
    return []
  }

  /** Serves one who only looks; how it ends is nobody's concern, unless it asks what it may not. */
  #observe(connection: Connection, inspect: NonNullable<ServeWorkersOptions['inspect']>): void {
    const { remote } = connection
    new Peer(connection, {
      who: `observer ${remote}`,
      handle: async (method, body) => {
        checkRequest('observer', method, body)
        return [Buffer.from(JSON.stringify(await inspect(readJson(body, 'inspect', readInspect))))]
      },
      onLost: (error) => error.message.includes('cut off') && this.#strangers.refused(remote, error),
    })
  }

  #lost(rank: number, error: Error): void {
    const { emit, onLost } = this.#options
    const reason = onLost ? onLost(rank, error) : error
    if (!reason) this.#bye(rank)
    else if (isUserError(error) && error.code === 'NET_PEER_LOST') this.stop(reason)
    else {
      // Printed now: the launcher may end this process before that moment is over.
      emit({ kind: 'warning', message: reason.message })
      setTimeout(() => this.stop(reason), LAST_WORDS_MS)
    }
  }

  #bye(rank: number): void {
    const { server, workers } = this.#options
    this.#left.add(rank)
    server.left(rank)
    if (this.#left.size < workers) return
    this.#threads.leave()
    this.#settle?.resolve()
  }
}

/** Whether this worker will end by itself; one that trains in another way than by config says no. */
async function askToHalt(peer: Peer): Promise<boolean> {
  try {
    const [will] = await peer.request(METHODS.halt, [], { timeoutMs: HALT_MS, what: 'halt()' })
    return will === 1
  } catch {
    return false // it has left, or is gone, which shows elsewhere
  }
}

function didNotCome(missing: readonly number[], timeoutMs: number): UserError {
  return new UserError(`${named(missing)} did not connect in ${timeoutMs} ms`, {
    code: 'PS_MISSING_WORKERS',
    hint: 'start every worker, and check that it reaches the endpoints in PADDLE_PSERVERS_IP_PORT_LIST',
  })
}
