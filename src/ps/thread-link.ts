/** @file A trainer thread's own way to a server of its host: heads of frames over a unix socket, bodies through shared memory. */
import {
  createSharedMemory,
  type Identity,
  Peer,
  SharedConnection,
  sayHello,
  sharedBytes,
  socketTransport,
} from '../net/index.ts'

/** Fact of the hello: the memory a thread has made; the server's answer has it when it sees the memory too. */
export const LINK_MEMORY = 'memory'

export interface ThreadLinkOptions {
  /** The server's unix socket. */
  readonly path: string
  readonly who: string
  readonly identity: Identity
  /** Room for bodies under way in either direction. */
  readonly bytes: number
}

const CONNECT_MS = 5000

/** Undefined when the system does not allow it: then there is another way. */
export async function openThreadLink({ path, who, identity, bytes }: ThreadLinkOptions): Promise<Peer | undefined> {
  const memory = createSharedMemory(sharedBytes(bytes))
  if (!memory) return undefined
  try {
    const connection = await socketTransport.connect(path, { timeoutMs: CONNECT_MS })
    const { facts } = await sayHello(connection, who, identity, { [LINK_MEMORY]: memory.path })
    if (!facts[LINK_MEMORY]) {
      connection.close()
      return undefined
    }
    // A thread computes for as long as a batch takes and is silent meanwhile; whether a process lives is told by its main thread.
    const deadAfterMs = Number.POSITIVE_INFINITY
    return new Peer(new SharedConnection(connection, memory.buffer, 0), { who, deadAfterMs })
  } finally {
    memory.unlink()
  }
}
