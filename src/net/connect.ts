/** @file Reaching a process that may not be up yet, until a deadline. */

import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { noConnection } from './errors.ts'
import type { Connection, Transport } from './transport.ts'

export interface ReachOptions {
  readonly transport: Transport
  readonly endpoint: string
  /** Names the other side in errors. */
  readonly who: string
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Called when it takes longer than a moment, once. */
  readonly onWait?: (reason: string) => void
}

const RETRY_MS = 50
const TELL_AFTER_MS = 3000
const ATTEMPT_MS = 5000

/** Tries again and again: a server may start later than its workers. */
export async function reach(options: ReachOptions): Promise<Connection> {
  const { transport, endpoint, who, timeoutMs, signal, onWait } = options
  const started = performance.now()
  let told = false
  for (;;) {
    try {
      return await transport.connect(endpoint, { timeoutMs: Math.min(timeoutMs, ATTEMPT_MS) })
    } catch (error) {
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
