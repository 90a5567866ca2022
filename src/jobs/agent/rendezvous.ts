/** @file The places of a node's processes among all those of their job, and how nodes that can exchange texts agree on them. */
import { randomBytes } from 'node:crypto'
import { fields, readJson, text } from '../../base/net/index.ts'
import { type BoundSocket, bindSocket, type JobAddresses, type ProcessIdentity, portFree } from '../launch/index.ts'
import type { Job } from '../submit/index.ts'

export interface Placement {
  readonly addresses: JobAddresses
  /** The job's shared secret. */
  readonly token: string
  /** One process each, on this node. */
  readonly own: readonly PlacedProcess[]
}

export interface PlacedProcess extends ProcessIdentity {
  /** Handed over to the process. */
  readonly sockets: readonly BoundSocket[]
}

export interface RendezvousOptions {
  readonly job: Job
  readonly node: number
  /** Where this node is reached by the others. */
  readonly host: string
  /** Every node gives a text and gets those of all, in order of nodes. */
  readonly exchange: (text: string) => Promise<readonly string[]>
}

const address = text(300, /^(|[[\]\w.:%-]+:\d{1,5})$/)
const readAddresses = fields<Record<'server' | 'trainer' | 'token', string>>({
  server: address,
  trainer: address,
  token: text(64, /^[0-9a-f]{64}$/),
})

/** Another node failed before all were ready; that node says why. */
export class LeftError extends Error {
  override readonly name = 'LeftError'
}

/** One process of each role on every node. Ports are bound before anybody starts, so that all addresses are known by then. */
export async function rendezvous({ job, node, host, exchange }: RendezvousOptions): Promise<Placement> {
  const hasServer = job.roles.some(({ name }) => name === 'pserver')
  const [server, trainer] = [hasServer ? await bindSocket(host) : undefined, await bindSocket(host)]
  const addressOf = (socket: BoundSocket | undefined) => (socket ? `${host}:${socket.port}` : '')
  const token = randomBytes(32).toString('hex')
  const texts = await exchange(JSON.stringify({ server: addressOf(server), trainer: addressOf(trainer), token }))
  const placed = (role: PlacedProcess['role'], socket: BoundSocket): PlacedProcess => ({
    role,
    rank: node,
    endpoint: addressOf(socket),
    sockets: [socket],
  })
  return { ...addressesIn(texts), own: [...(server ? [placed('server', server)] : []), placed('worker', trainer)] }
}

/** The place that a node had before its agent went: the others still know it by that. Its processes bind the ports themselves. */
export async function placeAgain(texts: readonly string[], node: number): Promise<Placement> {
  const { addresses, token } = addressesIn(texts)
  const placed = (role: PlacedProcess['role'], endpoint: string | undefined): readonly PlacedProcess[] =>
    endpoint ? [{ role, rank: node, endpoint, sockets: [] }] : []
  const own = [...placed('server', addresses.servers[node]), ...placed('worker', addresses.workers[node])]
  for (const { endpoint } of own) await portFree(endpoint)
  return { addresses, token, own }
}

/** Of what all nodes have given. */
function addressesIn(texts: readonly string[]): Omit<Placement, 'own'> {
  const all = texts.map((text, i) => readJson(Buffer.from(text), `node ${i}`, readAddresses))
  const servers = all.map((each) => each.server).filter((endpoint) => endpoint !== '')
  return {
    addresses: { servers, workers: all.map((each) => each.trainer), workerNum: all.length },
    token: all[0]!.token,
  }
}
