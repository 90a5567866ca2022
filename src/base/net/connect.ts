/** @file Reaching a process that may not be up yet, until a deadline; and by a unix socket one of the same host: a server names a path, and whoever can connect there is on its host. */

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { isUserError, ownName, removeLeftovers } from '../util/index.ts'
import { noConnection } from './errors.ts'
import { clientHandshake, type Identity } from './handshake.ts'
import type { TlsKeys } from './tls-keys.ts'
import type { Connection, Transport } from './transport.ts'

export interface ReachOptions<T> {
  readonly transport: Transport
  readonly endpoint: string
  /** Names the other side in errors. */
  readonly who: string
  readonly timeoutMs: number
  /** Encrypts the connection. @default plain */
  readonly tls?: TlsKeys | undefined
  readonly signal?: AbortSignal | undefined
  /** The handshake; a connection that ends during it is tried again: proxies accept before the server behind them is up. */
  readonly greet: (connection: Connection) => Promise<T>
  /** Called when it takes longer than a moment, once. */
  readonly onWait?: ((reason: string) => void) | undefined
}

const RETRY_MS = 50
const REPORT_AFTER_MS = 3000
const ATTEMPT_MS = 5000

/** Tries again and again: a server may start later than its workers. */
export async function reach<T>(
  options: ReachOptions<T>,
): Promise<{ readonly connection: Connection; readonly greeting: T }> {
  const { who, timeoutMs, signal, onWait } = options
  const started = performance.now()
  let reported = false
  for (;;) {
    try {
      return await attempt(options)
    } catch (error) {
      if (isUserError(error) && error.code !== 'NET_PEER_LOST') throw error
      const spent = performance.now() - started
      if (spent + RETRY_MS > timeoutMs || signal?.aborted) throw noConnection(who, timeoutMs, error)
      if (spent > REPORT_AFTER_MS && !reported) {
        reported = true
        onWait?.((error as Error).message)
      }
      await sleep(RETRY_MS)
    }
  }
}

async function attempt<T>({ transport, endpoint, timeoutMs, tls, greet }: ReachOptions<T>) {
  const connection = await transport.connect(endpoint, { timeoutMs: Math.min(timeoutMs, ATTEMPT_MS), tls })
  try {
    return { connection, greeting: await greet(connection) }
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Facts of the handshake: what a client asks for, what a server answers. */
export const PROBE = 'probe'
export const LOCAL_PATH = 'unix'

/** A new path for a server's unix socket, once what killed servers left there is gone; none where the platform has no such sockets. */
export function newLocalPath(): string | undefined {
  if (process.platform === 'win32') return undefined
  removeLeftovers()
  return join(tmpdir(), `${ownName('net')}.sock`)
}

/** Connects to the path that a server named; undefined from another host, where it means nothing. */
export async function connectLocally(
  transport: Transport,
  path: string,
  who: string,
  identity: Identity,
): Promise<Connection | undefined> {
  const local = await transport.connect(path, { timeoutMs: 2000 }).catch(() => undefined)
  if (local) await clientHandshake(local, who, identity)
  return local
}
