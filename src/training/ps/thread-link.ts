/** @file A trainer thread's own way to a server of its host: heads of frames over a unix socket, bodies through shared memory. */

import {
  type Connection,
  clientHandshake,
  createSharedMemory,
  type Identity,
  openSharedMemory,
  Peer,
  type PeerIdentity,
  SharedConnection,
  type SharedMemory,
  sharedBytes,
  socketTransport,
} from '../../base/net/index.ts'
import { defined } from '../../base/util/index.ts'
import type { DenseWindow } from '../../weights/params/index.ts'
import type { ParameterServer } from './server.ts'
import type { ParamStore } from './store.ts'

/** Facts of the hello: the memory a thread has made; the server's answer has the first when it sees all of it too. */
export const LINK_MEMORY = 'memory'
const WINDOW_MEMORY = 'window'
const WINDOW_FROM = 'from'

export interface ThreadLinkOptions {
  /** The server's unix socket. */
  readonly path: string
  readonly who: string
  readonly identity: Identity
  /** Room for bodies under way in either direction. */
  readonly bytes: number
  /** Called once for each request that is not answered for long. */
  readonly onSlow?: ((what: string, seconds: number) => void) | undefined
  /** The thread's weights and gradients, and where this server's part of them begins. */
  readonly window?: { readonly memory: SharedMemory; readonly from: number } | undefined
}

/** What a server sees of a thread's memory. */
export interface LinkMemory {
  readonly memory: ArrayBuffer
  readonly window?: DenseWindow | undefined
}

const CONNECT_MS = 5000

/** Undefined when the system does not allow it: then there is another way. */
export async function openThreadLink(options: ThreadLinkOptions): Promise<Peer | undefined> {
  const { path, who, identity, bytes, window, onSlow } = options
  const memory = createSharedMemory(sharedBytes(bytes))
  if (!memory) return undefined
  try {
    const connection = await socketTransport.connect(path, { timeoutMs: CONNECT_MS })
    const own = {
      [LINK_MEMORY]: memory.path,
      [WINDOW_MEMORY]: window?.memory.path,
      [WINDOW_FROM]: window && String(window.from),
    }
    const { facts } = await clientHandshake(connection, who, identity, defined(own))
    if (!facts[LINK_MEMORY]) {
      connection.close()
      return undefined
    }
    // A thread computes for as long as a batch takes and is silent meanwhile; its process's main thread sends the heartbeats.
    const deadAfterMs = Number.POSITIVE_INFINITY
    return new Peer(new SharedConnection(connection, memory.buffer, 0), { who, deadAfterMs, onSlow })
  } finally {
    memory.unlink()
  }
}

/** On the server: the memory of a thread that says hello; undefined when it is not to be seen, or the hello is not a thread's. */
export function openLinkMemory(
  facts: PeerIdentity['facts'],
  { denseSize, precision }: ParamStore,
): LinkMemory | undefined {
  const { [LINK_MEMORY]: path, [WINDOW_MEMORY]: windowPath, [WINDOW_FROM]: from } = facts
  const memory = path ? openSharedMemory(path) : undefined
  if (!memory || windowPath === undefined) return memory && { memory }
  const whole = openSharedMemory(windowPath)
  const floats = (whole?.byteLength ?? 0) / 8
  const start = /^\d{1,15}$/.test(from ?? '') ? Number(from) : Number.NaN
  if (!whole || precision !== 'float32' || !(start + denseSize <= floats)) return undefined
  const part = { from: start, to: start + denseSize }
  const { weights, gradients } = windowOver(whole, floats)
  return {
    memory,
    window: { weights: weights.subarray(part.from, part.to), gradients: gradients.subarray(part.from, part.to) },
  }
}

/** All dense weights, then their gradients. */
export function windowOver(memory: ArrayBuffer, floats: number): DenseWindow {
  return { weights: new Float32Array(memory, 0, floats), gradients: new Float32Array(memory, 4 * floats, floats) }
}

/** On the server: its connections of trainer threads. Their worker's own connection says whether they live. */
export class ServedThreads {
  readonly #server: ParameterServer
  readonly #peers = new Set<Peer>()

  constructor(server: ParameterServer) {
    this.#server = server
  }

  /** Serves a thread of worker `rank`: through its memory where there is some, else over the connection alone. */
  add(connection: Connection, rank: number, { memory, window }: Partial<LinkMemory>): void {
    const ended = () => this.#peers.delete(peer)
    const peer: Peer = new Peer(memory ? new SharedConnection(connection, memory, 1) : connection, {
      who: `worker[${rank}] ${connection.remote}`,
      handle: (method, body, keep) => this.#server.handle(rank, method, body, { keep, window, asker: 'thread' }),
      onLost: ended,
      onBye: ended,
      // A thread is silent for as long as a batch takes.
      deadAfterMs: Number.POSITIVE_INFINITY,
    })
    this.#peers.add(peer)
  }

  abort(reason: Error): void {
    for (const peer of this.#peers) peer.abort(reason)
  }

  leave(): void {
    for (const peer of this.#peers) peer.leave()
  }
}
