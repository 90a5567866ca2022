/** @file Automatic ports: bound here with port 0 and handed to the process as an open socket, so that nobody can take them in between. */
import { createServer, type Server } from 'node:net'
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

/** Node has no public name for a listening socket's descriptor; `_handle.fd` has been it since 0.x on POSIX. */
function descriptorOf(server: Server): number {
  const fd = (server as Server & { _handle?: { fd?: number } })._handle?.fd
  if (fd === undefined || fd < 0) throw new Error('internal: this platform does not hand over listening sockets')
  return fd
}
