/** @file A connection to every other rank: lower ranks are connected to, higher ones come. Names who is missing, or gone. */
import { performance } from 'node:perf_hooks'
import {
  type Connection,
  connectLocally,
  hearHello,
  type Identity,
  type Listener,
  LOCAL_PATH,
  newLocalPath,
  Peer,
  type PeerIdentity,
  PROBE,
  reach,
  sayHello,
  socketTransport,
} from '../../net/index.ts'
import { portTaken, ranksMissing } from '../errors.ts'
import type { RingPlan } from '../plan.ts'

export interface MeshEvents {
  /** A message of a rank. */
  readonly onMessage: (from: number, body: Uint8Array<ArrayBuffer>) => void
  /** A rank is gone, or tells why it stops. */
  readonly onLost: (rank: number, error: Error) => void
  readonly notice: (message: string) => void
}

export interface Mesh {
  /** Sends `parts` back to back, which must stay as they are. */
  send(to: number, parts: readonly Uint8Array[]): void
  /** Good-bye, or why this rank stops. */
  close(reason?: Error): Promise<void>
}

const START_TIMEOUT_MS = 5 * 60 * 1000
/** Who waits longer for others is told for whom. */
const SAY_AFTER_MS = 5000
const ACKNOWLEDGE_MS = 60 * 1000
/** Said by who connected, once it listens: what came with the answer to its hello would be lost. */
const READY = [new Uint8Array(0)]

export async function openMesh(plan: RingPlan, events: MeshEvents): Promise<Mesh> {
  const { rank, endpoints, startTimeoutMs = START_TIMEOUT_MS, deadAfterMs } = plan
  const identity: Identity = {
    ...plan.identity,
    role: 'worker',
    rank,
    agreement: { 'list of ranks': endpoints.join(',') },
  }
  const peers = new Map<number, Peer>()
  const arrivals = new Map<number, () => void>()
  const admit = (other: number, connection: Connection) => {
    const who = nameOf(plan, other)
    const peer = new Peer(connection, {
      who,
      handle: (_, body) => {
        if (body.length === 0) arrivals.get(other)?.()
        else events.onMessage(other, body)
        return []
      },
      onLost: (error) => events.onLost(other, error),
      ...(deadAfterMs !== undefined && { deadAfterMs }),
    })
    peers.set(other, peer)
    return peer
  }
  const here = new Set<number>()
  const higher = endpoints.slice(rank + 1).map((_, i) => {
    const other = rank + 1 + i
    return new Promise<void>((resolve) => {
      arrivals.set(other, () => {
        here.add(other)
        resolve()
      })
    })
  })
  const listeners = await listen(plan, identity, admit, events.notice)
  const deadline = performance.now() + startTimeoutMs
  const lower = endpoints.slice(0, rank).map(async (_, other) => {
    const peer = admit(other, await connect(plan, identity, other, startTimeoutMs, events.notice))
    await peer.request(0, READY, { timeoutMs: startTimeoutMs, what: 'ready' })
  })
  const closeAll = async () => void (await Promise.all(listeners.map((listener) => listener.close())))
  try {
    await Promise.all(lower)
    const missing = () =>
      endpoints.flatMap((_, other) => (other > rank && !here.has(other) ? [nameOf(plan, other)] : []))
    const come = Promise.all(higher)
    const left = () => deadline - performance.now()
    if (!(await within(Math.min(SAY_AFTER_MS, left()), come)))
      events.notice(`Waiting for ${missing().join(', ')} to come.`)
    if (!(await within(left(), come))) throw ranksMissing(missing(), startTimeoutMs)
  } catch (error) {
    for (const peer of peers.values()) peer.abort(error as Error)
    void closeAll()
    throw error
  }
  return {
    send: (to, parts) => {
      const what = 'numbers of a collective call'
      // Losing a rank is told by onLost; here it would be told once for every piece.
      peers
        .get(to)!
        .request(0, parts, { timeoutMs: ACKNOWLEDGE_MS, what })
        .catch(() => undefined)
    },
    close: async (reason) => {
      for (const peer of peers.values()) {
        if (reason) peer.abort(reason)
        else peer.leave()
      }
      await closeAll()
    },
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
  admit: (rank: number, connection: Connection) => Peer,
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
  const accept = (connection: Connection) => {
    hearHello(connection, identity, object, () => (path ? { [LOCAL_PATH]: path } : {}))
      .then(({ rank: other, facts }) => {
        if (facts[PROBE]) {
          connection.close()
          return
        }
        seen.add(other)
        admit(other, connection)
      })
      .catch((error: Error) => {
        connection.close()
        notice(`A connection was refused: ${error.message}`)
      })
  }
  const own = endpoints[rank]!
  const listener = await socketTransport
    .listen(own, accept, descriptor === undefined ? {} : { descriptor })
    .catch((error: unknown) => {
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
): Promise<Connection> {
  const who = nameOf(plan, other)
  const over = async (facts: Readonly<Record<string, string>>) =>
    reach({
      ...{ transport: socketTransport, endpoint: plan.endpoints[other]!, who, timeoutMs },
      greet: (connection) => sayHello(connection, who, identity, facts),
      onWait: (reason) => notice(`Waiting for ${who}: ${reason}`),
    })
  const { connection, greeting } = await over({ [PROBE]: 'yes' })
  connection.close()
  const path = greeting.facts[LOCAL_PATH]
  const local = path ? await connectLocally(socketTransport, path, who, identity) : undefined
  return local ?? (await over({})).connection
}

async function within(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, timeoutMs), false)
  })
  return await Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer))
}
