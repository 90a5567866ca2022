/** @file A connection to every other rank: this rank connects to lower ones, higher ones connect to it. Names those that are missing or gone. */
import { performance } from 'node:perf_hooks'
import { processEnv, startTimeoutOf } from '../../../base/env/index.ts'
import {
  agreedSilence,
  type Connection,
  checkMessage,
  clientHandshake,
  connectLocally,
  type Identity,
  type Listener,
  LOCAL_PATH,
  newLocalPath,
  Peer,
  type PeerIdentity,
  PROBE,
  reach,
  Strangers,
  serverHandshake,
  socketTransport,
} from '../../../base/net/index.ts'
import { within } from '../../../base/util/index.ts'
import { portTaken, ranksMissing } from '../errors.ts'
import type { RingPlan } from '../plan.ts'

export interface MeshEvents {
  /** A message of a rank. */
  readonly onMessage: (from: number, body: Uint8Array<ArrayBuffer>) => void
  /** A rank is gone, or has said why it stops. */
  readonly onLost: (rank: number, error: Error) => void
  readonly notice: (message: string) => void
}

export interface Mesh {
  /** Sends `parts` back to back, which must stay as they are. */
  send(to: number, parts: readonly Uint8Array[]): void
  /** Good-bye, or why this rank stops. */
  close(reason?: Error): Promise<void>
}

interface Reached {
  readonly connection: Connection
  readonly greeting: PeerIdentity
}

const NOTICE_AFTER_MS = 5000
const ACKNOWLEDGE_MS = 60 * 1000
/** Sent by the rank that connected, once it listens: what came with the answer to its hello would be lost. */
const READY = [new Uint8Array(0)]

export async function openMesh(plan: RingPlan, events: MeshEvents): Promise<Mesh> {
  const { rank, endpoints, startTimeoutMs = startTimeoutOf(processEnv()) } = plan
  const { membership } = plan
  const agreement = { 'list of ranks': endpoints.join(','), ...(membership ? { membership } : {}) }
  const identity: Identity = { ...plan.identity, role: 'worker', rank, agreement }
  const peers = new Map<number, Peer>()
  const arrivals = new Arrivals(plan)
  const admit = (other: number, { connection, greeting }: Reached) => {
    const peer = new Peer(connection, {
      who: nameOf(plan, other),
      handle: (method, body) => {
        checkMessage(method === 0, `request ${method} of a rank`)
        if (body.length === 0) arrivals.add(other)
        else events.onMessage(other, body)
        return []
      },
      onLost: (error) => events.onLost(other, error),
      deadAfterMs: plan.deadAfterMs ?? agreedSilence(identity, greeting),
    })
    peers.set(other, peer)
    return peer
  }
  const listeners = await listen(plan, identity, admit, events.notice)
  const closeListeners = async () => void (await Promise.all(listeners.map((listener) => listener.close())))
  const deadline = performance.now() + startTimeoutMs
  const lower = endpoints.slice(0, rank).map(async (_, other) => {
    const peer = admit(other, await connect(plan, identity, other, startTimeoutMs, events.notice))
    await peer.request(0, READY, { timeoutMs: startTimeoutMs, what: 'ready' })
  })
  try {
    await Promise.all(lower)
    await arrivals.wait(deadline, startTimeoutMs, events.notice)
  } catch (error) {
    for (const peer of peers.values()) peer.abort(error as Error)
    void closeListeners()
    throw error
  }
  return {
    send: (to, parts) => {
      const sent = peers.get(to)!.request(0, parts, { timeoutMs: ACKNOWLEDGE_MS, what: 'numbers of a collective call' })
      // A rank that is lost comes by onLost; here it would come once for every piece.
      sent.catch(() => undefined)
    },
    close: async (reason) => {
      for (const peer of peers.values()) {
        if (reason) peer.abort(reason)
        else peer.leave()
      }
      // This thread ends when the mesh is closed, and what an encrypted socket still holds with it.
      await Promise.all([...peers.values()].map((peer) => peer.drained()))
      await closeListeners()
    },
  }
}

/** Ranks above this one, which connect to it. */
class Arrivals {
  readonly #plan: RingPlan
  readonly #missing: Set<number>
  readonly #allHere: Promise<void>
  #onAllHere: () => void = () => undefined

  constructor(plan: RingPlan) {
    this.#plan = plan
    this.#missing = new Set([...plan.endpoints.keys()].slice(plan.rank + 1))
    this.#allHere = new Promise((resolve) => {
      this.#onAllHere = resolve
    })
    if (this.#missing.size === 0) this.#onAllHere()
  }

  add(rank: number): void {
    this.#missing.delete(rank)
    if (this.#missing.size === 0) this.#onAllHere()
  }

  /** Says whom it is waiting for. */
  async wait(deadline: number, timeoutMs: number, notice: MeshEvents['notice']): Promise<void> {
    const left = () => deadline - performance.now()
    const missing = () => [...this.#missing].map((rank) => nameOf(this.#plan, rank))
    if (!(await within(Math.min(NOTICE_AFTER_MS, left()), this.#allHere)))
      notice(`Waiting for ${missing().join(', ')} to come.`)
    if (!(await within(left(), this.#allHere))) throw ranksMissing(missing(), timeoutMs)
  }
}

/** `rank 2 (10.0.0.4:6071)` */
export function nameOf({ endpoints }: RingPlan, rank: number): string {
  return `rank ${rank} (${endpoints[rank]})`
}

/** The own port, and a unix socket for ranks of this host. */
async function listen(
  plan: RingPlan,
  identity: Identity,
  admit: (rank: number, reached: Reached) => Peer,
  notice: (message: string) => void,
): Promise<readonly Listener[]> {
  const { rank, endpoints, descriptor } = plan
  const path = newLocalPath()
  const seen = new Set<number>()
  const object = (peer: PeerIdentity) => {
    if (peer.rank > rank && peer.rank < endpoints.length && (peer.facts[PROBE] || !seen.has(peer.rank)))
      return undefined
    return { refusal: `rank ${peer.rank} is not expected here, or is here already`, hint: 'check PADDLE_TRAINER_ID' }
  }
  const strangers = new Strangers({ onWarning: notice, hosts: identity.hosts })
  const greet = async (connection: Connection) => {
    const own = () => (path ? { [LOCAL_PATH]: path } : {})
    const greeting = await serverHandshake(connection, identity, object, own)
    if (greeting.facts[PROBE]) return connection.close()
    seen.add(greeting.rank)
    admit(greeting.rank, { connection, greeting })
  }
  const accept = (connection: Connection) => void strangers.guard(connection, greet)
  const own = endpoints[rank]!
  const options = { descriptor, tls: identity.tls, door: strangers }
  const listener = await socketTransport.listen(own, accept, options).catch((error: unknown) => {
    throw portTaken(own, error)
  })
  const local = path ? [await socketTransport.listen(path, accept)] : []
  return [listener, ...local]
}

async function connect(
  plan: RingPlan,
  identity: Identity,
  other: number,
  timeoutMs: number,
  notice: (message: string) => void,
): Promise<Reached> {
  const who = nameOf(plan, other)
  const over = async (facts: Readonly<Record<string, string>>) =>
    reach({
      transport: socketTransport,
      endpoint: plan.endpoints[other]!,
      who,
      timeoutMs,
      tls: identity.tls,
      greet: (connection) => clientHandshake(connection, who, identity, facts),
      onWait: (reason) => notice(`Waiting for ${who}: ${reason}`),
    })
  const { connection, greeting } = await over({ [PROBE]: 'yes' })
  connection.close()
  const path = greeting.facts[LOCAL_PATH]
  const local = path ? await connectLocally(socketTransport, path, who, identity) : undefined
  return local ? { connection: local, greeting } : await over({})
}
