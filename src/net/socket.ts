/** @file The transport of production: TCP, and unix sockets for endpoints that are paths. */
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { bytesOf, encodeHead, FrameReader, HEAD_BYTES } from './frame.ts'
import {
  type Connection,
  type ConnectionListener,
  type Frame,
  type FrameHead,
  type Listener,
  type ListenOptions,
  MAX_HELLO_BYTES,
  type Transport,
} from './transport.ts'

/** `host:port` is TCP, `/path` (or a Windows pipe) a unix socket. */
export const socketTransport: Transport = {
  listen(endpoint, onConnection, { descriptor }: ListenOptions = {}): Promise<Listener> {
    const server = createServer({ noDelay: true }, (socket) =>
      onConnection(new SocketConnection(socket, remoteOf(socket))),
    )
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(descriptor === undefined ? address(endpoint) : { fd: descriptor }, () => {
        server.off('error', reject)
        resolve({
          endpoint: endpointOf(endpoint, server.address()),
          close: () => new Promise((done) => server.close(() => done())),
        })
      })
    })
  },

  connect(endpoint, { timeoutMs }): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connectSocket({ ...address(endpoint), noDelay: true })
      const timer = setTimeout(
        () => socket.destroy(new Error(`no connection to ${endpoint} in ${timeoutMs} ms`)),
        timeoutMs,
      )
      socket.once('error', (error) => {
        clearTimeout(timer)
        reject(error)
      })
      socket.once('connect', () => {
        clearTimeout(timer)
        socket.removeAllListeners('error')
        resolve(new SocketConnection(socket, endpoint))
      })
    })
  },
}

class SocketConnection implements Connection {
  readonly remote: string
  readonly copies = false
  readonly #socket: Socket
  readonly #reader: FrameReader
  #listener: ConnectionListener | undefined
  #early: Frame[] = []
  #failure: Error | undefined

  constructor(socket: Socket, remote: string) {
    this.#socket = socket
    this.remote = remote
    this.#reader = new FrameReader(MAX_HELLO_BYTES, (frame) => this.#deliver(frame))
    socket.on('data', (piece) => this.#read(piece as Buffer))
    socket.on('error', (error) => {
      this.#failure ??= error
    })
    socket.on('close', () => this.#listener?.closed(this.#failure))
  }

  get queuedBytes(): number {
    return this.#socket.writableLength
  }

  send(head: FrameHead, parts: readonly Uint8Array[]): void {
    if (this.#socket.destroyed) return
    const first = encodeHead(head, parts)
    if (HEAD_BYTES + bytesOf(parts) <= SMALL_FRAME_BYTES) {
      this.#socket.write(Buffer.concat([first, ...parts]))
      return
    }
    // Corked, so that head and parts leave in one call of the system.
    this.#socket.cork()
    this.#socket.write(first)
    for (const part of parts) if (part.byteLength > 0) this.#socket.write(part)
    this.#socket.uncork()
  }

  listen(listener: ConnectionListener): void {
    this.#listener = listener
    const early = this.#early
    this.#early = []
    for (const frame of early) listener.frame(frame)
    if (this.#socket.closed) listener.closed(this.#failure)
  }

  limit(bytes: number): void {
    this.#reader.limit = bytes
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  hold(alive: boolean): void {
    if (alive) this.#socket.ref()
    else this.#socket.unref()
  }

  close(): void {
    this.#socket.end()
    // The other side may never end its half.
    setTimeout(() => this.#socket.destroy(), LINGER_MS).unref()
  }

  #read(piece: Buffer): void {
    try {
      this.#reader.push(piece)
    } catch (error) {
      this.#failure ??= error as Error
      this.#socket.destroy()
    }
  }

  #deliver(frame: Frame): void {
    if (this.#listener) this.#listener.frame(frame)
    else this.#early.push(frame)
  }
}

const SMALL_FRAME_BYTES = 16 * 1024 // below this one copy is cheaper than a list of buffers
const LINGER_MS = 300

export function splitEndpoint(endpoint: string): { readonly host: string; readonly port: number } {
  const at = endpoint.lastIndexOf(':')
  return { host: endpoint.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port: Number(endpoint.slice(at + 1)) }
}

function address(endpoint: string): { host: string; port: number } | { path: string } {
  return isPath(endpoint) ? { path: endpoint } : splitEndpoint(endpoint)
}

function isPath(endpoint: string): boolean {
  return endpoint.startsWith('/') || endpoint.startsWith('\\\\')
}

function endpointOf(asked: string, bound: ReturnType<ReturnType<typeof createServer>['address']>): string {
  if (isPath(asked) || bound === null || typeof bound === 'string') return asked
  return `${splitEndpoint(asked).host}:${bound.port}`
}

/** Clients of a unix socket have no address. */
function remoteOf(socket: Socket): string {
  return socket.remoteAddress ? `${socket.remoteAddress}:${socket.remotePort}` : '(this host)'
}
