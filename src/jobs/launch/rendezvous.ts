/** @file How hosts find each other at a master: each brings its processes, all get the whole job. The first at the address is the master. */
import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import {
  agreedSilence,
  checkMessage,
  clientHandshake,
  Peer,
  reach,
  readJson,
  socketTransport,
} from '../../base/net/index.ts'
import type { JobNode } from './process-env.ts'
import {
  ASKED_TO_STOP,
  type Change,
  changeOf,
  identityOf,
  isElastic,
  JOIN,
  leavePeer,
  Master,
  type RendezvousOptions,
} from './rendezvous-master.ts'
import { type Joined, readPlan } from './rendezvous-messages.ts'

export type { Change } from './rendezvous-master.ts'

export interface Rendezvous {
  /** In the order of ranks. */
  readonly nodes: readonly JobNode[]
  readonly own: number
  /** Of this membership: larger than that of every one before that any of the hosts was in. */
  readonly number: number
  /** There is something to go on from. */
  readonly resumes: boolean
  /** Resolves when a host comes or goes later; never where their number is fixed. */
  readonly changed: Promise<Change>
  /** Hosts that are still in it, with those that have come since. */
  remaining(): number
  /** The others learn that all are to stop and to meet again; the master stays one until then. */
  announce(why: string): void
  /** Without a reason: this host's ranks are done. A reason is sent to the others, who come to another rendezvous. */
  leave(why?: string): void
}

export async function rendezvous(options: RendezvousOptions): Promise<Rendezvous> {
  const { nodeRank } = options.layout
  const { own: node, number = 0, resumes = false } = options
  const own: Joined = { node, rank: nodeRank, id: randomBytes(6).toString('hex'), number, resumes }
  const isFirst = options.isMasterHere && (nodeRank ?? 0) === 0
  const until = performance.now() + options.timeoutMs
  for (;;) {
    if (isFirst) {
      try {
        return await beMaster(options, own)
      } catch (error) {
        // Another launcher of this host was faster.
        if ((error as { cause?: { code?: string } }).cause?.code !== 'EADDRINUSE' || nodeRank === 0) throw error
      }
    }
    const leftMs = until - performance.now()
    try {
      return await joinMaster(options, own, isFirst ? Math.min(leftMs, REACH_MS) : options.timeoutMs)
    } catch (error) {
      // It was about to end: one of those that are left takes its place.
      if (!isFirst || (error as { code?: string }).code !== 'NET_NO_CONNECTION' || leftMs <= REACH_MS) throw error
    }
  }
}

/** How long a master of this host that does not answer is waited for. */
const REACH_MS = 2000

/** The address by which this machine reaches the master: the one the others reach it by. */
export function addressTowards(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4')
    const done = (address: string | undefined) => {
      socket.close()
      resolve(address)
    }
    socket.once('error', () => done(undefined))
    // Nothing is sent: connecting a datagram socket only looks up the route.
    socket.connect(port, host, () => done(socket.address().address))
  })
}

async function beMaster(options: RendezvousOptions, own: Joined): Promise<Rendezvous> {
  const master = new Master(options, own)
  await master.listen()
  try {
    await master.gather()
  } catch (error) {
    master.leave((error as Error).message)
    throw error
  }
  const { nodes, ids, number, resumes = false } = master.publish()
  const leave = (why?: string) => master.leave(why)
  const announce = (why: string) => master.leave(why, ids)
  const { changed } = master
  const remaining = () => master.remaining
  return { nodes, own: ids.indexOf(own.id), number, resumes, changed, remaining, announce, leave }
}

async function joinMaster(options: RendezvousOptions, own: Joined, reachMs: number): Promise<Rendezvous> {
  const { master, layout, timeoutMs, notice, signal } = options
  const who = `the master at ${master}`
  const identity = identityOf(options)
  const { connection, greeting } = await reach({
    transport: socketTransport,
    endpoint: master,
    who,
    timeoutMs: reachMs,
    signal,
    tls: identity.tls,
    greet: (connection) => clientHandshake(connection, who, identity),
    onWait: (reason) => notice(`Waiting for ${who}: ${reason}.`),
  })
  let onChange: (change: Change) => void = () => undefined
  const changed = new Promise<Change>((resolve) => {
    if (isElastic(options)) onChange = resolve
  })
  const peer = new Peer(connection, {
    who,
    deadAfterMs: agreedSilence(identity, greeting),
    onLost: (error) => onChange(changeOf(error.message)),
  })
  signal.addEventListener('abort', () => peer.abort(new Error(`it was ${ASKED_TO_STOP}`)), { once: true })
  const body = Buffer.from(JSON.stringify(own))
  const answer = await peer.request(JOIN, [body], { timeoutMs: timeoutMs + layout.elasticTimeoutMs, what: 'to join' })
  const { nodes, ids, number, resumes = false } = readJson(answer, 'plan', readPlan)
  const place = ids.indexOf(own.id)
  checkMessage(place >= 0 && ids.length === nodes.length, 'plan: this host is not in it')
  // Should this host be the next master: all but the one that is gone.
  const remaining = () => nodes.length - 1
  const leave = (why?: string) => leavePeer(peer, why)
  return { nodes, own: place, number, resumes, changed, remaining, announce: leave, leave }
}
