/** @file Reaching a process that may not be up yet, until a deadline. */

import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { isUserError } from '../util/index.ts'
import { noConnection } from './errors.ts'
import type { Connection, Transport } from './transport.ts'

export interface ReachOptions<T> {
  readonly transport: Transport
  readonly endpoint: string
  /** Names the other side in errors. */
  readonly who: string
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** The first words; a connection that ends during them is tried again: proxies accept before the server behind them is up. */
  readonly greet: (connection: Connection) => Promise<T>
  /** Called when it takes longer than a moment, once. */
  readonly onWait?: (reason: string) => void
}

const RETRY_MS = 50
const TELL_AFTER_MS = 3000
const ATTEMPT_MS = 5000

/** Tries again and again: a server may start later than its workers. */
export async function reach<T>(
  options: ReachOptions<T>,
): Promise<{ readonly connection: Connection; readonly greeting: T }> {
  const { who, timeoutMs, signal, onWait } = options
  const started = performance.now()
  let told = false
  for (;;) {
    try {
      return await attempt(options)
    } catch (error) {
      if (isUserError(error) && error.code !== 'NET_PEER_LOST') throw error
      const spent = performance.now() - started
      if (spent + RETRY_MS > timeoutMs || signal?.aborted) throw noConnection(who, timeoutMs, error)
      if (spent > TELL_AFTER_MS && !told) {
        told = true
        onWait?.((error as Error).message)
      }
      await sleep(RETRY_MS)
    }
  }
}

async function attempt<T>({ transport, endpoint, timeoutMs, greet }: ReachOptions<T>) {
  const connection = await transport.connect(endpoint, { timeoutMs: Math.min(timeoutMs, ATTEMPT_MS) })
  try {
    return { connection, greeting: await greet(connection) }
  } catch (error) {
    connection.close()
    throw error
  }
}
