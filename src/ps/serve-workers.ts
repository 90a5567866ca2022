/** @file The workers of one server: who is here, who has left, and what happens when one is gone. */
import type { EventSink } from '../event/index.ts'
import { type Connection, hearHello, type Identity, Peer, type PeerIdentity } from '../net/index.ts'
import { formatUserError, isUserError, UserError } from '../util/index.ts'
import { workers as named, twoOfRank } from './errors.ts'
import { LOCAL_PATH, PROBE } from './local-path.ts'
import type { ParameterServer } from './server.ts'

export interface ServeOptions {
  readonly server: ParameterServer
  readonly workers: number
  readonly identity: Identity
  readonly emit: EventSink
  readonly deadAfterMs?: number
  /** A unix socket where workers of this host may connect instead: faster than TCP. */
  readonly localPath?: string
}

export interface WorkerService {
  readonly accept: (connection: Connection) => void
  /** Resolves when every worker has left; rejects when one is gone, or did not come in time. */
  done(startTimeoutMs: number): Promise<void>
  /** Tells all workers why it ends. */
  stop(reason: Error): void
}

/** Strangers are told off at most so often, so that they cannot fill the log. */
const WARN_EVERY_MS = 1000

export function serveWorkers({ server, workers, identity, emit, deadAfterMs, localPath }: ServeOptions): WorkerService {
  const peers = new Map<number, { peer: Peer; remote: string }>()
  const left = new Set<number>()
  let warnedAt = 0
  let failure: Error | undefined
  let settle: { resolve: () => void; reject: (error: Error) => void } | undefined

  const stop = (reason: Error) => {
    if (failure) return
    failure = reason
    for (const { peer } of peers.values()) peer.abort(reason)
    settle?.reject(reason)
  }
  const bye = (rank: number) => {
    left.add(rank)
    server.left(rank)
    if (left.size === workers) settle?.resolve()
  }
  const admit = async (connection: Connection) => {
    const object = ({ role, rank }: PeerIdentity) => {
      const known = peers.get(rank)
      if (role !== 'worker' || rank >= workers)
        return { refusal: `it is not one of ${workers} workers`, hint: 'check PADDLE_TRAINER_ID' }
      return known && twoOfRank(rank, known.remote, connection.remote)
    }
    const { rank, facts } = await hearHello(connection, identity, object, localPath ? { [LOCAL_PATH]: localPath } : {})
    // It only asked where else it may connect.
    if (facts[PROBE]) {
      connection.close()
      return
    }
    const peer: Peer = new Peer(connection, {
      who: `worker[${rank}] ${connection.remote}`,
      handle: (method, body) => server.handle(rank, method, body),
      onLost: stop,
      onBye: () => bye(rank),
      ...(deadAfterMs !== undefined && { deadAfterMs }),
    })
    peers.set(rank, { peer, remote: connection.remote })
    if (failure) peer.abort(failure)
  }
  const accept = (connection: Connection) => {
    admit(connection).catch((error: unknown) => {
      connection.close()
      const now = Date.now()
      if (now - warnedAt < WARN_EVERY_MS) return
      warnedAt = now
      const message = isUserError(error) ? formatUserError(error) : String(error)
      emit({ kind: 'warning', message: `A connection was refused: ${message}` })
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

function didNotCome(missing: readonly number[], timeoutMs: number): UserError {
  return new UserError(`${named(missing)} did not connect in ${timeoutMs} ms`, {
    code: 'PS_MISSING_WORKERS',
    hint: 'start every worker, and check that it reaches the endpoints in PADDLE_PSERVERS_IP_PORT_LIST',
  })
}
