/** @file The workers of one server: who is here, who has left, and what happens when one is gone. */
import type { EventSink } from '../event/index.ts'
import {
  type Connection,
  hearHello,
  type Identity,
  LOCAL_PATH,
  Peer,
  type PeerIdentity,
  type PeerOptions,
  PROBE,
} from '../net/index.ts'
import { isUserError, UserError } from '../util/index.ts'
import { workers as named, twoOfRank } from './errors.ts'
import type { InspectAnswer, InspectRequest } from './inspect.ts'
import { Links } from './links.ts'
import { METHODS } from './protocol.ts'
import type { ParameterServer } from './server.ts'
import { LANES, type Lane } from './shard-threads.ts'
import { Strangers } from './strangers.ts'
import { LINK_MEMORY, type LinkMemory, openLinkMemory } from './thread-link.ts'

export interface ServeOptions {
  readonly server: ParameterServer
  readonly workers: number
  readonly identity: Identity
  readonly emit: EventSink
  readonly deadAfterMs?: number
  /** Answers those who look at the job without being part of it. @default nobody may look */
  readonly inspect?: (request: InspectRequest) => Promise<InspectAnswer>
  /** A worker is gone without a good-bye: what to end with, or undefined to go on without it. @default ends with the error */
  readonly onLost?: (rank: number, error: Error) => Error | undefined
  /** A unix socket where workers of this host may connect instead: faster than TCP. */
  readonly localPath?: string
  /** Further threads of this server, where trainer threads are served too. @default none */
  readonly lanes?: readonly Lane[]
}

export interface WorkerService {
  readonly accept: (connection: Connection) => void
  /** Resolves when every worker has left; rejects when one is gone, or did not come in time. */
  done(startTimeoutMs: number): Promise<void>
  /** Tells all workers why it ends. */
  stop(reason: Error): void
}

/** A worker that said why it ends is about to: the launcher is to see it end before those who only heard of it. */
const LAST_WORDS_MS = 1500

export function serveWorkers(options: ServeOptions): WorkerService {
  const { server, workers, identity, emit, deadAfterMs, localPath, inspect, lanes = [] } = options
  const { onLost = (_: number, error: Error): Error | undefined => error } = options
  const peers = new Map<number, { peer: Peer; remote: string }>()
  const left = new Set<number>()
  const links = new Links(server)
  const strangers = new Strangers(emit)
  let failure: Error | undefined
  let settle: { resolve: () => void; reject: (error: Error) => void } | undefined

  const stop = (reason: Error) => {
    if (failure) return
    failure = reason
    for (const { peer } of peers.values()) peer.abort(reason)
    links.abort(reason)
    settle?.reject(reason)
  }
  const serve = (
    connection: Connection,
    rank: number,
    options: Pick<PeerOptions, 'onLost' | 'onBye' | 'deadAfterMs'>,
  ) =>
    new Peer(connection, {
      who: `worker[${rank}] ${connection.remote}`,
      handle: (method, body, keep) => server.handle(rank, method, body, { keep }),
      ...options,
    })
  const bye = (rank: number) => {
    left.add(rank)
    server.left(rank)
    if (left.size < workers) return
    links.leave()
    settle?.resolve()
  }
  const admit = async (connection: Connection) => {
    const object = ({ role, rank, facts }: PeerIdentity) => {
      const known = facts[LINK_MEMORY] === undefined ? peers.get(rank) : undefined
      if (role === 'observer' && inspect) return undefined
      if (role !== 'worker' || rank >= workers)
        return { refusal: `it is not one of ${workers} workers`, hint: 'check PADDLE_TRAINER_ID' }
      return known && twoOfRank(rank, known.remote, connection.remote)
    }
    let memory: LinkMemory | undefined
    const tell = ({ facts }: PeerIdentity): PeerIdentity['facts'] => {
      memory = openLinkMemory(facts, server.store)
      return {
        ...(localPath && { [LOCAL_PATH]: localPath }),
        ...(memory && { [LINK_MEMORY]: 'mapped' }),
        ...(lanes.length > 0 && { [LANES]: JSON.stringify(lanes) }),
      }
    }
    const { rank, facts, role } = await hearHello(connection, identity, object, tell)
    // It only asked where else it may connect.
    if (facts[PROBE]) {
      connection.close()
      return
    }
    if (role === 'observer') return observe(connection, inspect!)
    if (facts[LINK_MEMORY] !== undefined) return memory ? links.add(connection, rank, memory) : connection.close()
    const onBye = () => bye(rank)
    const gone = (error: Error) => {
      const reason = onLost(rank, error)
      if (!reason) bye(rank)
      else if (isUserError(error) && error.code === 'NET_PEER_LOST') stop(reason)
      else {
        // Said now: the launcher may end this process before that moment is over.
        emit({ kind: 'warning', message: reason.message })
        setTimeout(() => stop(reason), LAST_WORDS_MS)
      }
    }
    const peer = serve(connection, rank, { onLost: gone, onBye, ...(deadAfterMs !== undefined && { deadAfterMs }) })
    peers.set(rank, { peer, remote: connection.remote })
    if (failure) peer.abort(failure)
  }
  const accept = (connection: Connection) => {
    if (strangers.isTooOften(connection.remote)) return connection.close()
    admit(connection).catch((error: unknown) => {
      connection.close()
      strangers.refused(connection.remote, error)
    })
  }
  const done = (startTimeoutMs: number) =>
    new Promise<void>((resolve, reject) => {
      settle = { resolve, reject }
      if (failure) reject(failure)
      if (left.size === workers) resolve()
      setTimeout(() => {
        const missing = Array.from({ length: workers }, (_, rank) => rank).filter((rank) => !peers.has(rank))
        if (missing.length > 0) stop(didNotCome(missing, startTimeoutMs))
      }, startTimeoutMs).unref()
    })
  return { accept, done, stop }
}

/** Serves one who only looks; how it ends is nobody's concern. */
function observe(connection: Connection, inspect: NonNullable<ServeOptions['inspect']>): void {
  new Peer(connection, {
    who: `observer ${connection.remote}`,
    handle: async (method, body) => {
      if (method !== METHODS.inspect) throw new Error(`internal: an observer asked for method ${method}`)
      const request = JSON.parse(Buffer.from(body).toString('utf8')) as InspectRequest
      return [Buffer.from(JSON.stringify(await inspect(request)))]
    },
  })
}

function didNotCome(missing: readonly number[], timeoutMs: number): UserError {
  return new UserError(`${named(missing)} did not connect in ${timeoutMs} ms`, {
    code: 'PS_MISSING_WORKERS',
    hint: 'start every worker, and check that it reaches the endpoints in PADDLE_PSERVERS_IP_PORT_LIST',
  })
}
