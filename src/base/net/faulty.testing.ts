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
  /** Frames overtake each other: each waits for itself. @default false */
  readonly reorder?: boolean
  /** Nothing passes, from and for how long after the transport was made. */
  readonly partition?: { readonly fromMs: number; readonly forMs: number }
}

export function faultyTransport(inner: Transport, faults: Faults): Transport {
  let connections = 0
  const { fromMs = 0, forMs = 0 } = faults.partition ?? {}
  const begin = Date.now() + fromMs
  const isCut = () => Date.now() >= begin && Date.now() < begin + forMs
  const wrap = (connection: Connection) => faultyConnection(connection, { ...faults, isCut }, connections++)
  return {
    listen: (endpoint, onConnection, options) =>
      inner.listen(endpoint, (connection) => onConnection(wrap(connection)), options),
    connect: async (endpoint, options) => wrap(await inner.connect(endpoint, options)),
  }
}

interface ConnectionFaults extends Faults {
  readonly isCut: () => boolean
}

function faultyConnection(inner: Connection, faults: ConnectionFaults, number: number) {
  const { seed, drop = 0, repeat = 0, delayMs = 0, reorder = false, isCut } = faults
  const rng = createRng(BigInt(seed * 1000 + number))
  let last = 0
  const send = (head: FrameHead, parts: readonly Uint8Array[]) => {
    if (SPARED.has(head.type)) return inner.send(head, parts)
    if (rng.uniform() < drop || isCut()) return
    const times = rng.uniform() < repeat ? 2 : 1
    const copy = parts.map((part) => part.slice())
    const deliver = () => {
      for (let i = 0; i < times; i++) inner.send(head, copy)
    }
    if (delayMs === 0) return deliver()
    const now = Date.now()
    const due = now + rng.uniform() * delayMs
    last = reorder ? due : Math.max(last, due)
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
    drained: inner.drained.bind(inner),
  } satisfies Connection
}

const SPARED = new Set(['hello', 'abort', 'bye'])
