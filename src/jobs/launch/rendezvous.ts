/** @file How hosts find each other at a master: each brings its processes, all get the whole job. The first at the address is the master. */
import { createHash, randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import {
  agreedSilence,
  type Connection,
  checkMessage,
  clientHandshake,
  credentialsOf,
  type Identity,
  type Listener,
  Peer,
  reach,
  readJson,
  Strangers,
  serverHandshake,
  socketTransport,
  type TlsSetting,
} from '../../base/net/index.ts'
import type { CollectiveLayout } from './collective-layout.ts'
import { nodesMissing, notExpected, portTaken } from './errors.ts'
import type { JobNode } from './process-env.ts'
import { type JobPlan, type Joined, readJoined, readPlan } from './rendezvous-messages.ts'

export interface RendezvousOptions {
  /** host:port */
  readonly master: string
  /** Whether this host may be the master. */
  readonly isMasterHere: boolean
  readonly layout: Pick<CollectiveLayout, 'nodes' | 'nodeRank' | 'sortByAddress' | 'elasticTimeoutMs'>
  readonly own: JobNode
  /** The job's name, and its secret, known to all, when something set it: it is never sent. */
  readonly job: {
    readonly id: string
    readonly token: string | undefined
    readonly tls?: TlsSetting | undefined
    readonly silenceMs?: number | undefined
    /** Where something names them: without a token no other may come. */
    readonly hosts?: readonly string[] | undefined
  }
  /** How long the others may take. Where the number of hosts is min:max, the job starts elasticTimeoutMs after the last arrival. */
  readonly timeoutMs: number
  readonly notice: (message: string) => void
  readonly signal: AbortSignal
}

export interface Rendezvous {
  /** In the order of ranks. */
  readonly nodes: readonly JobNode[]
  readonly own: number
  /** Resolves with the reason when a host comes or goes later; never where their number is fixed. */
  readonly changed: Promise<string>
  /** Without a reason: this host's ranks are done. A reason is sent to the others, who come to another rendezvous. */
  leave(why?: string): void
}

const JOIN = 1

export async function rendezvous(options: RendezvousOptions): Promise<Rendezvous> {
  const { nodeRank } = options.layout
  const own: Joined = { node: options.own, rank: nodeRank, id: randomBytes(6).toString('hex') }
  const isFirst = options.isMasterHere && (nodeRank ?? 0) === 0
  if (isFirst) {
    try {
      return await beMaster(options, own)
    } catch (error) {
      // Another launcher of this host was faster.
      if ((error as { cause?: { code?: string } }).cause?.code !== 'EADDRINUSE' || nodeRank === 0) throw error
    }
  }
  return await joinMaster(options, own)
}

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
  const { nodes, ids } = master.publish()
  const leave = (why?: string) => master.leave(why)
  return { nodes, own: ids.indexOf(own.id), changed: master.changed, leave }
}

class Master {
  /** Of hosts that come or go after the plan was published. */
  readonly changed: Promise<string>
  readonly #options: RendezvousOptions
  readonly #joined: Map<string, Joined>
  readonly #peers = new Map<string, Peer>()
  readonly #answers: ((plan: JobPlan) => void)[] = []
  #listener: Listener | undefined
  #isPublished = false
  #onArrival: () => void = () => undefined
  #onChange: (why: string) => void = () => undefined

  constructor(options: RendezvousOptions, own: Joined) {
    this.#options = options
    this.#joined = new Map([[own.id, own]])
    this.changed = new Promise((resolve) => {
      if (isElastic(options)) this.#onChange = resolve
    })
  }

  async listen(): Promise<void> {
    const { master, notice } = this.#options
    const identity = identityOf(this.#options)
    const strangers = new Strangers({ onWarning: notice, hosts: identity.hosts })
    const accept = (connection: Connection) =>
      void strangers.guard(connection, async () => {
        const launcher = await serverHandshake(connection, identity)
        this.#admit(connection, agreedSilence(identity, launcher))
      })
    const options = { tls: identity.tls, door: strangers }
    this.#listener = await socketTransport.listen(master, accept, options).catch((error: unknown) => {
      throw portTaken(master, error)
    })
  }

  #admit(connection: Connection, deadAfterMs: number): void {
    const { notice } = this.#options
    let id: string | undefined
    const peer: Peer = new Peer(connection, {
      who: `launcher at ${connection.remote}`,
      deadAfterMs,
      handle: (method, body) => {
        checkMessage(method === JOIN && id === undefined, `request ${method} of a launcher`)
        const joined = readJson(body, 'join', readJoined)
        this.#refuse(joined)
        id = joined.id
        this.#peers.set(id, peer)
        this.#add(joined)
        return new Promise((resolve) => {
          this.#answers.push((plan) => resolve([Buffer.from(JSON.stringify(plan))]))
        })
      },
      // A good-bye is no change: that host's ranks are done, as the others' will be.
      onLost: (error) => {
        if (id === undefined) notice(error.message)
        else this.#remove(id, error)
      },
    })
  }

  /** A host that has no place in this job. */
  #refuse({ id, rank, node }: Joined): void {
    const { nodes } = this.#options.layout
    const others = [...this.#joined.values()]
    const taken = new Set(others.flatMap((other) => other.node.endpoints))
    const twice = node.endpoints.find((endpoint) => taken.has(endpoint))
    if (this.#isPublished && !isElastic(this.#options)) throw notExpected(node.host, 'the job has begun')
    if (!this.#isPublished && others.length >= nodes.max)
      throw notExpected(node.host, `${nodes.max} hosts have come already`)
    if (this.#joined.has(id)) throw notExpected(node.host, 'it has come already')
    if (twice !== undefined) throw notExpected(node.host, `another host has brought ${twice}`)
    if (rank !== undefined && others.some((other) => other.rank === rank))
      throw notExpected(node.host, `another host has node rank ${rank}`)
  }

  #add(joined: Joined): void {
    const { layout, notice } = this.#options
    const { host } = joined.node
    this.#joined.set(joined.id, joined)
    if (this.#isPublished) this.#onChange(`${host} has come`)
    this.#onArrival()
    notice(`${host} has come: ${this.#joined.size} of ${hostsText(layout.nodes)}.`)
  }

  #remove(id: string, error: Error): void {
    const known = this.#joined.get(id)
    this.#joined.delete(id)
    if (known && this.#isPublished) this.#onChange(`${known.node.host} is gone (${error.message})`)
  }

  /** Until the last host is here, or enough are and no more come. */
  async gather(): Promise<void> {
    const { master, layout, timeoutMs, signal } = this.#options
    const { nodes, elasticTimeoutMs } = layout
    const started = performance.now()
    while (this.#joined.size < nodes.max) {
      const isEnough = this.#joined.size >= nodes.min
      const waitMs = isEnough ? elasticTimeoutMs : Math.max(0, timeoutMs - (performance.now() - started))
      if (await this.#nobodyComesFor(waitMs)) {
        if (isEnough) return
        throw nodesMissing(this.#joined.size, hostsText(nodes), master, timeoutMs)
      }
      if (signal.aborted) throw new Error('asked to stop while waiting for other hosts')
    }
  }

  async #nobodyComesFor(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const isQuiet = await new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, ms, true)
      this.#onArrival = () => resolve(false)
      this.#options.signal.addEventListener('abort', () => resolve(false), { once: true })
    })
    clearTimeout(timer)
    return isQuiet
  }

  /** Sends the plan to all that have come. */
  publish(): JobPlan {
    const order = inOrder([...this.#joined.values()], this.#options.layout.sortByAddress)
    const plan = { nodes: order.map(({ node }) => node), ids: order.map(({ id }) => id) }
    this.#isPublished = true
    for (const answer of this.#answers) answer(plan)
    if (!isElastic(this.#options)) void this.#listener!.close()
    return plan
  }

  leave(why?: string): void {
    for (const peer of this.#peers.values()) leavePeer(peer, why)
    void this.#listener!.close()
  }
}

async function joinMaster(options: RendezvousOptions, own: Joined): Promise<Rendezvous> {
  const { master, layout, timeoutMs, notice, signal } = options
  const who = `the master at ${master}`
  const identity = identityOf(options)
  const { connection, greeting } = await reach({
    transport: socketTransport,
    endpoint: master,
    who,
    timeoutMs,
    signal,
    tls: identity.tls,
    greet: (connection) => clientHandshake(connection, who, identity),
    onWait: (reason) => notice(`Waiting for ${who}: ${reason}.`),
  })
  let onChange: (why: string) => void = () => undefined
  const changed = new Promise<string>((resolve) => {
    if (isElastic(options)) onChange = resolve
  })
  const peer = new Peer(connection, {
    who,
    deadAfterMs: agreedSilence(identity, greeting),
    onLost: (error) => onChange(error.message),
  })
  signal.addEventListener('abort', () => peer.abort(new Error('it was stopped')), { once: true })
  const body = Buffer.from(JSON.stringify(own))
  const answer = await peer.request(JOIN, [body], { timeoutMs: timeoutMs + layout.elasticTimeoutMs, what: 'to join' })
  const { nodes, ids } = readJson(answer, 'plan', readPlan)
  const place = ids.indexOf(own.id)
  checkMessage(place >= 0 && ids.length === nodes.length, 'plan: this host is not in it')
  return { nodes, own: place, changed, leave: (why) => leavePeer(peer, why) }
}

function leavePeer(peer: Peer, why: string | undefined): void {
  if (why) peer.abort(new Error(why))
  else peer.leave()
}

function isElastic({ layout }: RendezvousOptions): boolean {
  return layout.nodes.min < layout.nodes.max
}

/** The master first, then by rank where all have one, by address when asked, else as they came. */
function inOrder(all: readonly Joined[], byAddress: boolean): readonly Joined[] {
  if (all.every(({ rank }) => rank !== undefined)) return [...all].sort((a, b) => a.rank! - b.rank!)
  if (!byAddress) return all
  const key = ({ node }: Joined) => node.host.replace(/\d+/g, (digits) => digits.padStart(3, '0'))
  return [...all].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

function identityOf({ job, master, layout }: RendezvousOptions): Identity {
  const { id: jobId, token, tls, hosts, silenceMs } = job
  // Without a secret from outside this guards against mix-ups, not attackers.
  const derived = createHash('sha256').update(`${master} ${jobId}`).digest('hex')
  const secrets = { jobId, token: token ?? derived, derivedToken: token === undefined, tls, hosts, silenceMs }
  return { ...credentialsOf(secrets, []), role: 'worker', rank: 0, agreement: { nnodes: hostsText(layout.nodes) } }
}

function hostsText({ min, max }: CollectiveLayout['nodes']): string {
  return min === max ? String(min) : `${min}:${max}`
}
