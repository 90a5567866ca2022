/** @file A transport inside one thread, for tests: as ordered and as asynchronous as a socket, without one. */
import {
  type Connection,
  type ConnectionListener,
  type Frame,
  type FrameHead,
  MAX_HELLO_BYTES,
  type Transport,
} from './transport.ts'

export function memoryTransport(): Transport {
  const listeners = new Map<string, (connection: Connection) => void>()
  return {
    async listen(endpoint, onConnection) {
      if (listeners.has(endpoint)) throw new Error(`listen EADDRINUSE: address already in use ${endpoint}`)
      listeners.set(endpoint, onConnection)
      return {
        endpoint,
        close: async () => {
          listeners.delete(endpoint)
        },
      }
    },
    async connect(endpoint) {
      const accept = listeners.get(endpoint)
      if (!accept) throw new Error(`connect ECONNREFUSED ${endpoint}`)
      const [near, far] = [new MemoryConnection(endpoint), new MemoryConnection(`client of ${endpoint}`)]
      near.other = far
      far.other = near
      accept(far)
      return near
    },
  }
}

type Arrival = Frame | 'end'

class MemoryConnection implements Connection {
  readonly remote: string
  readonly queuedBytes = 0
  readonly copies = true
  other: MemoryConnection | undefined
  #listener: ConnectionListener | undefined
  #arrivals: Arrival[] = []
  #limit = MAX_HELLO_BYTES
  #paused = false
  #closed = false

  constructor(remote: string) {
    this.remote = remote
  }

  send(head: FrameHead, parts: readonly Uint8Array[]): void {
    if (this.#closed) return
    this.other!.#arrive({ ...head, body: new Uint8Array(Buffer.concat(parts)) })
  }

  listen(listener: ConnectionListener): void {
    this.#listener = listener
    this.#schedule()
  }

  unlisten(unread: readonly Frame[]): void {
    this.#listener = undefined
    this.#arrivals.unshift(...unread)
  }

  limit(bytes: number): void {
    this.#limit = bytes
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#schedule()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.other!.#arrive('end')
    this.#arrive('end')
  }

  drained(): Promise<void> {
    return Promise.resolve()
  }

  #arrive(arrival: Arrival): void {
    this.#arrivals.push(arrival)
    this.#schedule()
  }

  #schedule(): void {
    setImmediate(() => {
      while (this.#listener && !this.#paused && this.#arrivals.length > 0) this.#deliver(this.#arrivals.shift()!)
    })
  }

  #deliver(arrival: Arrival): void {
    if (arrival === 'end') {
      this.#closed = true
      const listener = this.#listener!
      this.#listener = undefined
      listener.closed(undefined)
    } else if (arrival.body.byteLength <= this.#limit) this.#listener!.frame(arrival)
    else this.close()
  }
}
