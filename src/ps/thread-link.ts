/** @file A trainer thread's own way to a server of its host: heads of frames over a unix socket, bodies through shared memory. */

import {
  createSharedMemory,
  type Identity,
  openSharedMemory,
  Peer,
  type PeerIdentity,
  SharedConnection,
  type SharedMemory,
  sayHello,
  sharedBytes,
  socketTransport,
} from '../net/index.ts'
import type { DenseWindow } from '../params/index.ts'
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
  readonly onSlow?: (what: string, seconds: number) => void
  /** The thread's weights and gradients, and where this server's part of them begins. */
  readonly window?: { readonly memory: SharedMemory; readonly from: number }
}

/** What a server sees of a thread's memory. */
export interface LinkMemory {
  readonly memory: ArrayBuffer
  readonly window?: DenseWindow
}

const CONNECT_MS = 5000

/** Undefined when the system does not allow it: then there is another way. */
export async function openThreadLink(options: ThreadLinkOptions): Promise<Peer | undefined> {
  const { path, who, identity, bytes, window, onSlow } = options
  const memory = createSharedMemory(sharedBytes(bytes))
  if (!memory) return undefined
  try {
    const connection = await socketTransport.connect(path, { timeoutMs: CONNECT_MS })
    const { facts } = await sayHello(connection, who, identity, {
      [LINK_MEMORY]: memory.path,
      ...(window && { [WINDOW_MEMORY]: window.memory.path, [WINDOW_FROM]: String(window.from) }),
    })
    if (!facts[LINK_MEMORY]) {
      connection.close()
      return undefined
    }
    // A thread computes for as long as a batch takes and is silent meanwhile; whether a process lives is told by its main thread.
    const deadAfterMs = Number.POSITIVE_INFINITY
    return new Peer(new SharedConnection(connection, memory.buffer, 0), {
      ...{ who, deadAfterMs },
      ...(onSlow && { onSlow }),
    })
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
  if (!whole || precision !== 'float32' || Number(from) + denseSize > floats) return undefined
  const part = { from: Number(from), to: Number(from) + denseSize }
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
