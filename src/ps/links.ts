/** @file Connections of trainer threads to a server's thread. Whether their worker lives is told by the worker's own connection. */
import { type Connection, Peer, SharedConnection } from '../net/index.ts'
import type { ParameterServer } from './server.ts'
import type { LinkMemory } from './thread-link.ts'

export class Links {
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
      handle: (method, body, keep) => this.#server.handle(rank, method, body, { keep, ...(window && { window }) }),
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
