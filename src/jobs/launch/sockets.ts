/** @file Automatic ports: bound here with port 0 and handed to the process as an open socket, so that nobody can take them in between. */
import { createServer, type Server } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { splitEndpoint } from '../../base/net/index.ts'
import { portTaken } from './errors.ts'

export interface BoundSocket {
  readonly port: number
  /** Valid until close(); a child gets a copy of its own. */
  readonly fd: number
  /** Gives up this process's copy; the child's stays open. */
  close(): void
}

/** Listens on a free port of `host`. Who connects before the process answers waits in the socket's queue. */
export async function bindSocket(host: string): Promise<BoundSocket> {
  // A connection that arrives before the socket is handed over is no part of the job.
  const server = createServer((stray) => stray.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(portTaken(host, error)))
    server.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port: 0 }, resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('internal: a TCP server without a port')
  return { port: address.port, fd: descriptorOf(server), close: () => server.close() }
}

const FREE_MS = 20_000
const LOOK_MS = 100

/** Resolves when nobody listens there any more, or after a while: processes end a moment after whoever started them was killed. */
export async function portFree(endpoint: string): Promise<void> {
  const { host, port } = splitEndpoint(endpoint)
  const isFree = () =>
    new Promise<boolean>((done) => {
      const server = createServer()
      server.once('error', () => done(false))
      server.listen({ host, port }, () => server.close(() => done(true)))
    })
  for (const until = performance.now() + FREE_MS; performance.now() < until; await setTimeout(LOOK_MS))
    if (await isFree()) return
}

/** Node has no public name for a listening socket's descriptor; `_handle.fd` has been it since 0.x on POSIX. */
function descriptorOf(server: Server): number {
  const fd = (server as Server & { _handle?: { fd?: number } })._handle?.fd
  if (fd === undefined || fd < 0) throw new Error('internal: this platform does not hand over listening sockets')
  return fd
}
