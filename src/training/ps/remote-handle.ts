/** @file Trainer threads reach servers through the thread that owns the sockets: requests and answers change hands without a copy. */
import type { MessagePort } from 'node:worker_threads'
import type { GeoDelta, WirePrecision } from '../../base/config/index.ts'
import { HalfCoder } from '../../base/kernel/index.ts'
import { createSharedMemory, type Identity, type Parts, type Peer } from '../../base/net/index.ts'
import { fromPlainError, type PlainError, toPlainError } from '../../base/util/index.ts'
import {
  type DenseLayout,
  type LinkCount,
  type LocalParamsHandle,
  newLink,
  type Params,
  type Slice,
} from '../../weights/params/index.ts'
import type { Placement } from '../../weights/table/index.ts'
import { HotRowsParams, type KeptRows } from './hot-params.ts'
import { type Call, RemoteParams } from './remote-params.ts'
import { halvedSlice } from './runs.ts'
import type { ServerGroup } from './server-group.ts'
import { openThreadLink, windowOver } from './thread-link.ts'
import { WiredParams, type WireLayout } from './wired-params.ts'

/** Parameters on servers as plain data plus a port: goes to a trainer thread, the port by transfer. */
export interface RemoteParamsHandle {
  readonly kind: 'remote'
  readonly port: MessagePort
  readonly thread: number
  readonly layout: DenseLayout
  readonly slices: readonly Slice[]
  readonly segments: number
  readonly placement: Placement
  /** Batches that may be asked for before the gradients of the one before are sent: 1 overlaps, 0 does not. */
  readonly pullsAhead: 0 | 1
  /** How to reach servers of this host without the thread that owns the sockets. */
  readonly links: ThreadLinks
  /** What travels to servers of other hosts. @default float32 */
  readonly precision?: WirePrecision | undefined
  /** Rows that are kept for some batches. @default none */
  readonly hot?: KeptRows | undefined
  /** Where servers hold blocks of weights. @default each holds a stretch of the layout */
  readonly wire?: WireLayout | undefined
}

export interface ThreadLinks {
  readonly identity: Identity
  /** The servers' endpoints, for errors. */
  readonly servers: readonly string[]
  /** Their unix sockets; undefined for those on other hosts. */
  readonly paths: readonly (string | undefined)[]
  /** Room for frames under way. */
  readonly bytes: number
  readonly timeoutMs: number
}

/** A geo worker's: its own copy to train, and the servers' model to evaluate and, unless by Paddle's rule, to train dense weights of. */
export interface GeoParamsHandle {
  readonly kind: 'geo'
  readonly delta: GeoDelta
  readonly local: LocalParamsHandle
  readonly remote: RemoteParamsHandle
}

interface Ask {
  readonly kind: 'ask'
  readonly id: number
  readonly server: number
  readonly method: number
  readonly body: Uint8Array<ArrayBuffer>
  readonly what: string
}

/** A server of this host lets a thread wait. */
interface Slow {
  readonly kind: 'slow'
  readonly server: number
  readonly what: string
  readonly seconds: number
}

type Answer =
  | { readonly kind: 'answer'; readonly id: number; readonly body: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'error'; readonly id: number; readonly error: PlainError }
  /** The job ends: nothing that was asked will be answered. */
  | { readonly kind: 'failure'; readonly failure: PlainError }

/** In a trainer thread: the parameters that its servers have. */
export async function openRemoteParams(handle: RemoteParamsHandle): Promise<Params & Pick<RemoteParams, 'skip'>> {
  const { port, thread, segments, slices, pullsAhead, links, layout, wire, precision, hot } = handle
  const ahead = pullsAhead > 0
  const everywhere = slices.every((_, server) => links.paths[server] !== undefined)
  // What is laid out anew for the wire is copied anyway.
  const shared = ahead && everywhere && layout.floats > 0 && !wire
  const memory = shared ? createSharedMemory(8 * layout.floats) : undefined
  const peers = await Promise.all(
    slices.map(({ from }, server) => {
      const path = links.paths[server]
      const window = memory && { memory, from }
      const onSlow = (what: string, seconds: number) =>
        port.postMessage({ kind: 'slow', server, what, seconds } satisfies Slow)
      return path && openThreadLink({ ...links, path, who: whoIs(server, links), onSlow, window })
    }),
  )
  memory?.unlink()
  const window = memory && peers.every(Boolean) ? windowOver(memory.buffer, layout.floats) : undefined
  const end = (reason: Error) => {
    for (const peer of peers) if (peer) peer.abort(reason)
  }
  const counts = slices.map((_, server) => newLink(`server-${server}`))
  const call = counted(callsTo(peers, callsOver(port, end), links.timeoutMs), counts)
  const halved = precision === 'float16' ? halvedTo(peers, slices, wire ? 0 : layout.trainable) : undefined
  const remote = new RemoteParams({ call, thread, segments, slices, ahead, window, halved, links: counts })
  if (hot) return new HotRowsParams(remote, hot)
  return wire ? Object.assign(new WiredParams(remote, wire), { skip: () => remote.skip() }) : remote
}

/** What shared memory carries needs no packing. */
function halvedTo(peers: readonly unknown[], slices: readonly Slice[], trainable: number) {
  const coder = new HalfCoder()
  const each = slices.map((slice, server) => (peers[server] ? undefined : halvedSlice(coder, trainable, slice)))
  return (server: number) => each[server]
}

const whoIs = (server: number, { servers }: ThreadLinks) => `server[${server}] ${servers[server]}`

/** Straight to servers of this host, by the other way to the rest. */
function callsTo(peers: readonly (Peer | undefined | '')[], others: Call, timeoutMs: number): Call {
  return (server, method, parts, what, read) => {
    const peer = peers[server]
    return peer ? peer.ask(method, parts, { timeoutMs, what }, read) : others(server, method, parts, what, read)
  }
}

/** Bodies alone; weights that lie in memory of both sides do not travel. */
export function counted(call: Call, counts: readonly LinkCount[]): Call {
  return (server, method, parts, what, read) => {
    const own = counts[server]!
    const asked = performance.now()
    own.calls++
    for (const part of parts) own.sentBytes += part.byteLength
    return call(server, method, parts, what, (body) => {
      own.receivedBytes += body.byteLength
      own.seconds += (performance.now() - asked) / 1000
      return read(body)
    })
  }
}

function callsOver(port: MessagePort, onFailure: (reason: Error) => void): Call {
  const pending = new Map<number, { receive: (body: Uint8Array<ArrayBuffer>) => void; reject: (e: Error) => void }>()
  let next = 0
  port.on('message', (answer: Answer) => {
    if (answer.kind === 'failure') return void onFailure(fromPlainError(answer.failure))
    const waiting = pending.get(answer.id)!
    pending.delete(answer.id)
    if (answer.kind === 'error') waiting.reject(fromPlainError(answer.error))
    else waiting.receive(answer.body)
  })
  return (server, method, parts, what, read) =>
    new Promise((resolve, reject) => {
      const id = next++
      const body = whole(parts)
      pending.set(id, { receive: (answer) => resolve(read(answer)), reject })
      port.postMessage({ kind: 'ask', id, server, method, body, what } satisfies Ask, [body.buffer])
    })
}

/** One buffer of its own, which can be given to another thread. */
function whole(parts: Parts): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + part.byteLength, 0)).buffer)
  let at = 0
  for (const part of parts) {
    body.set(part, at)
    at += part.byteLength
  }
  return body
}

/** In the thread that owns the sockets: answers one trainer thread. Deadlines are the group's. */
export function serveThread(port: MessagePort, servers: ServerGroup, thread = 0): void {
  servers.onFailure((reason) => port.postMessage({ kind: 'failure', failure: toPlainError(reason) } satisfies Answer))
  port.on('message', (message: Ask | Slow) => {
    if (message.kind === 'slow') return servers.reportSlow(message.server, message.what, message.seconds)
    const { id, server, method, body, what } = message
    servers.request(server, method, [body], what, thread).then(
      (answer) => port.postMessage({ kind: 'answer', id, body: answer } satisfies Answer, [answer.buffer]),
      (error: unknown) => port.postMessage({ kind: 'error', id, error: toPlainError(error) } satisfies Answer),
    )
  })
  // The thread at the other end keeps the process alive while it works, not what it could ask.
  port.unref()
}
