/** @file The places of a node's processes among all those of their job, and how nodes that can exchange texts agree on them. */
import { randomBytes } from 'node:crypto'
import { type BoundSocket, bindSocket, type JobAddresses, type ProcessIdentity } from '../launch/index.ts'
import type { Job } from '../submit/index.ts'

export interface Seats {
  readonly addresses: JobAddresses
  /** The job's shared secret. */
  readonly token: string
  /** One process each, on this node. */
  readonly own: readonly Seat[]
}

export interface Seat extends ProcessIdentity {
  /** Handed over to the process. */
  readonly sockets: readonly BoundSocket[]
}

export interface MeetOptions {
  readonly job: Job
  readonly node: number
  /** Where this node is reached by the others. */
  readonly host: string
  /** Every node gives a text and gets those of all, in order of nodes. */
  readonly exchange: (text: string) => Promise<readonly string[]>
}

/** One process of each role on every node. Ports are bound before anybody starts, so that all addresses are known by then. */
export async function meetSeats({ job, node, host, exchange }: MeetOptions): Promise<Seats> {
  const hasServer = job.roles.some(({ name }) => name === 'pserver')
  const [server, trainer] = [hasServer ? await bindSocket(host) : undefined, await bindSocket(host)]
  const addressOf = (socket: BoundSocket | undefined) => (socket ? `${host}:${socket.port}` : '')
  const token = randomBytes(32).toString('hex')
  const told = await exchange(JSON.stringify({ server: addressOf(server), trainer: addressOf(trainer), token }))
  const all = told.map((text) => JSON.parse(text) as Record<'server' | 'trainer' | 'token', string>)
  const seat = (role: Seat['role'], socket: BoundSocket): Seat => ({
    ...{ role, rank: node, endpoint: addressOf(socket), sockets: [socket] },
  })
  return {
    addresses: {
      servers: hasServer ? all.map((each) => each.server) : [],
      workers: all.map((each) => each.trainer),
      workerNum: all.length,
    },
    token: all[0]!.token,
    own: [...(server ? [seat('server', server)] : []), seat('worker', trainer)],
  }
}
