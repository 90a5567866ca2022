/** @file The transport of production: TCP, encrypted where there are keys, and unix sockets for endpoints that are paths. */
import { chmodSync } from 'node:fs'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { Crowd } from './crowd.ts'
import { byteLengthOf, encodeHead, FrameReader, HEAD_BYTES } from './frame.ts'
import { PieceWriter } from './piece-writer.ts'
import { bindingOf, connectTls, Inlet, readDirectly, tlsAcceptor, tlsProblem } from './tls-socket.ts'
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
  listen(endpoint, onConnection, { descriptor, tls, door }: ListenOptions = {}): Promise<Listener> {
    const opened = (socket: Socket) => onConnection(new SocketConnection(socket, remoteOf(socket), bindingOf(socket)))
    const accept = tls && !isPath(endpoint) ? tlsAcceptor({ keys: tls, door, opened, remoteOf }) : opened
    const server = createServer({ noDelay: true }, (socket) => {
      if (!door || door.isWanted(remoteOf(socket))) return accept(socket)
      socket.resetAndDestroy()
      crowd?.turnedAway()
    })
    const crowd = door && new Crowd(server, door.dropped)
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(descriptor === undefined ? address(endpoint) : { fd: descriptor }, () => {
        server.off('error', reject)
        // By itself it has what the umask leaves, and that may be everybody's.
        if (endpoint.startsWith('/')) chmodSync(endpoint, 0o600)
        // One that could not be accepted, for want of descriptors, is no reason to end.
        server.on('error', () => undefined)
        resolve({
          endpoint: endpointOf(endpoint, server.address()),
          close: () => {
            crowd?.close()
            return new Promise((done) => server.close(() => done()))
          },
        })
      })
    })
  },

  connect(endpoint, { timeoutMs, tls }): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const isTls = tls !== undefined && !isPath(endpoint)
      const inlet = isTls ? new Inlet() : undefined
      const socket = inlet
        ? connectTls(splitEndpoint(endpoint), tls!, inlet)
        : connectSocket({ ...address(endpoint), noDelay: true })
      const timer = setTimeout(
        () => socket.destroy(new Error(`no connection to ${endpoint} in ${timeoutMs} ms`)),
        timeoutMs,
      )
      socket.once('error', (error) => {
        clearTimeout(timer)
        reject(tlsProblem(endpoint, error) ?? error)
      })
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer)
        socket.removeAllListeners('error')
        resolve(new SocketConnection(socket, endpoint, bindingOf(socket), inlet))
      })
    })
  },
}

class SocketConnection implements Connection {
  readonly remote: string
  readonly copies = false
  readonly binding: string | undefined
  readonly #socket: Socket
  readonly #reader: FrameReader
  /** Of an encrypted socket. */
  readonly #writer: PieceWriter | undefined
  #listener: ConnectionListener | undefined
  #early: Frame[] = []
  #failure: Error | undefined

  constructor(socket: Socket, remote: string, binding: string | undefined, inlet?: Inlet) {
    this.#socket = socket
    this.remote = remote
    this.binding = binding
    this.#writer = binding === undefined ? undefined : new PieceWriter(socket)
    this.#reader = new FrameReader(MAX_HELLO_BYTES, (frame) => this.#deliver(frame), this.#isChecked)
    const read = (piece: Uint8Array) => this.#read(piece)
    if (inlet) inlet.open(read)
    else if (binding !== undefined) readDirectly(socket, read)
    else socket.on('data', read)
    socket.on('error', (error) => {
      this.#failure ??= tlsProblem(remote, error) ?? error
    })
    socket.on('close', () => this.#listener?.closed(this.#failure))
  }

  get queuedBytes(): number {
    return this.#socket.writableLength + (this.#writer?.bytes ?? 0)
  }

  get receivedBytes(): number {
    return this.#socket.bytesRead
  }

  /** What is encrypted is checked by that. */
  get #isChecked(): boolean {
    return this.binding === undefined
  }

  send(head: FrameHead, parts: readonly Uint8Array[]): void {
    if (this.#socket.destroyed) return
    const first = encodeHead(head, parts, this.#isChecked)
    if (this.#writer) {
      this.#writer.write([first, ...parts])
      return
    }
    if (HEAD_BYTES + byteLengthOf(parts) <= SMALL_FRAME_BYTES) {
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

  unlisten(unread: readonly Frame[]): void {
    this.#listener = undefined
    this.#early = [...unread]
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
    if (this.#writer) this.#writer.end()
    else this.#socket.end()
    // The other side may never read, or never end its half.
    const destroyAfter = (ms: number) => void setTimeout(() => this.#socket.destroy(), ms).unref()
    destroyAfter(DRAIN_MS)
    this.#socket.once('finish', () => destroyAfter(LINGER_MS))
  }

  drained(): Promise<void> {
    if (this.#socket.writableFinished || this.#socket.closed) return Promise.resolve()
    return new Promise((resolve) => this.#socket.once('finish', resolve).once('close', () => resolve()))
  }

  #read(piece: Uint8Array): void {
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
const DRAIN_MS = 5000

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
