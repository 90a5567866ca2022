/**
 * @file Connections that come faster than anybody can look at them. Node takes one a turn of its event loop; on Linux the queue of the listening
 * socket is emptied by the system's own calls instead, many at a time, and a turn of the loop is taken for all of them.
 */
import type { Server } from 'node:net'
import { loadKoffi } from '../util/index.ts'

/** Unwanted connections of a second, beyond which all that come are dropped until it is over: that costs least. Processes of the job try again. */
const MOST_TURNED_AWAY = 10
const SECOND_MS = 1000
/** The system queues some hundred connections meanwhile. */
const EMPTY_EVERY_MS = 100

export class Crowd {
  readonly #server: Server
  readonly #dropped: () => void
  /** Of a listening socket with an address; of others, and where the system has no such calls, Node drops what comes, one by one. */
  readonly #openQueue: () => Queue | undefined
  #queue: Queue | undefined
  #count = 0
  #second: NodeJS.Timeout | undefined
  #emptying: NodeJS.Timeout | undefined

  /** `dropped` is called for each that is. */
  constructor(server: Server, dropped: () => void, openQueue = () => queueOf(server)) {
    this.#server = server
    this.#dropped = dropped
    this.#openQueue = openQueue
    server.on('drop', dropped)
  }

  turnedAway(): void {
    this.#dropped()
    this.#second ??= setTimeout(() => this.#over(), SECOND_MS)
    if (++this.#count === MOST_TURNED_AWAY) this.#shut()
  }

  /** The server is about to be closed. */
  close(): void {
    clearTimeout(this.#second)
    clearInterval(this.#emptying)
    this.#queue?.close()
  }

  #shut(): void {
    this.#queue ??= this.#openQueue()
    const queue = this.#queue
    if (!queue) {
      this.#server.maxConnections = -1 // fewer than none: the next is dropped as it comes
      return
    }
    this.#server.close() // connections that there are stay, and so does the queue
    this.#emptying = setInterval(() => {
      for (let dropped = queue.empty(); dropped > 0; dropped--) this.#dropped()
    }, EMPTY_EVERY_MS)
  }

  #over(): void {
    this.#second = undefined
    this.#count = 0
    this.#server.maxConnections = Number.POSITIVE_INFINITY
    if (this.#emptying) this.#open(this.#queue!)
  }

  #open(queue: Queue): void {
    const again = () => {
      this.#second = setTimeout(() => this.#over(), SECOND_MS)
    }
    const fd = queue.copy()
    if (fd < 0) {
      again() // no descriptor is left
      return
    }
    this.#server.once('error', again)
    this.#server.listen({ fd }, () => {
      this.#server.off('error', again)
      clearInterval(this.#emptying)
      this.#emptying = undefined
    })
  }
}

/** A listening socket's queue, held open whether or not Node listens. */
export interface Queue {
  /** A descriptor of the same socket. */
  copy(): number
  /** Closes all that wait; how many these were. */
  empty(): number
  close(): void
}

/** At once: what goes on coming meanwhile waits for the next time. */
const MOST_AT_ONCE = 4096
// As Linux has them.
const COPY_NOT_INHERITED = 1030
const NOT_INHERITED = 0o2000000

/** Undefined where there is no such thing. Node has no public name for the descriptor; `_handle.fd` has been it since 0.x on POSIX. */
function queueOf(server: Server): Queue | undefined {
  const fd = (server as Server & { _handle?: { fd?: number } })._handle?.fd ?? -1
  if (process.platform !== 'linux' || fd < 0 || typeof server.address() === 'string') return undefined
  const system = loadKoffi().load(null)
  const close = system.func('int close(int fd)')
  const accept = system.func('int accept4(int fd, void *address, void *length, int flags)')
  const control = system.func('int fcntl(int fd, int command, ...)')
  const copyOf = (one: number): number => control(one, COPY_NOT_INHERITED, 'int', 0)
  const own = copyOf(fd)
  if (own < 0) return undefined // no descriptor is left
  return {
    copy: () => copyOf(own),
    empty: () => {
      for (let count = 0; ; count++) {
        const next = count < MOST_AT_ONCE ? accept(own, null, null, NOT_INHERITED) : -1
        if (next < 0) return count
        close(next)
      }
    },
    close: () => void close(own),
  }
}
