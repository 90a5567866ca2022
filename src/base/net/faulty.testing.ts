/** @file A transport that loses and delays frames, by seed: what a bad network does, as often as a test needs it. */
import { createRng } from '../util/index.ts'
import type { Connection, FrameHead, Transport } from './transport.ts'

export interface Faults {
  readonly seed: number
  /** Share of frames that are lost, 0 to 1. The hello is spared: it is not sent twice. */
  readonly drop?: number
  /** Share of frames that arrive twice. */
  readonly repeat?: number
  /** Each frame waits up to so long, in order. */
  readonly delayMs?: number
}

export function faultyTransport(inner: Transport, faults: Faults): Transport {
  let connections = 0
  const wrap = (connection: Connection) => faultyConnection(connection, faults, connections++)
  return {
    listen: (endpoint, onConnection, options) =>
      inner.listen(endpoint, (connection) => onConnection(wrap(connection)), options),
    connect: async (endpoint, options) => wrap(await inner.connect(endpoint, options)),
  }
}

function faultyConnection(inner: Connection, { seed, drop = 0, repeat = 0, delayMs = 0 }: Faults, number: number) {
  const rng = createRng(BigInt(seed * 1000 + number))
  let last = 0
  const send = (head: FrameHead, parts: readonly Uint8Array[]) => {
    if (SPARED.has(head.type)) return inner.send(head, parts)
    if (rng.uniform() < drop) return
    const times = rng.uniform() < repeat ? 2 : 1
    const copy = parts.map((part) => part.slice())
    const deliver = () => {
      for (let i = 0; i < times; i++) inner.send(head, copy)
    }
    if (delayMs === 0) return deliver()
    const now = Date.now()
    last = Math.max(last, now + rng.uniform() * delayMs)
    setTimeout(deliver, last - now)
  }
  return {
    get remote() {
      return inner.remote
    },
    get queuedBytes() {
      return inner.queuedBytes
    },
    copies: true,
    send,
    listen: inner.listen.bind(inner),
    limit: inner.limit.bind(inner),
    pause: inner.pause.bind(inner),
    resume: inner.resume.bind(inner),
    close: inner.close.bind(inner),
  } satisfies Connection
}

const SPARED = new Set(['hello', 'abort', 'bye'])
