/** @file Hosts that meet at a master: each tells its processes, all learn the whole job. The first at the address is the master. */
import { createHash, randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { type Connection, hearHello, type Identity, Peer, reach, sayHello, socketTransport } from '../net/index.ts'
import type { JobNode } from './collective-env.ts'
import { nodesMissing, portTaken } from './errors.ts'

export interface MeetOptions {
  /** host:port */
  readonly master: string
  readonly nodes: { readonly min: number; readonly max: number }
  readonly jobId: string
  /** Known to all, when something set it. */
  readonly token: string | undefined
  readonly own: JobNode
  readonly nodeRank: number | undefined
  readonly sortByAddress: boolean
  /** How long the first may wait for the others; with min < max, how long after the last arrival it starts without more. */
  readonly timeoutMs: number
  readonly elasticTimeoutMs: number
  /** Whether this host may be the master. */
  readonly isMasterHere: boolean
  readonly notice: (message: string) => void
  readonly signal: AbortSignal
}

export interface Meeting {
  /** In the order of ranks. */
  readonly nodes: readonly JobNode[]
  readonly own: number
  /** The job's secret, drawn by the master. */
  readonly token: string
  /** Resolves with the reason when a host comes or goes later; never where their number is fixed. */
  readonly changed: Promise<string>
  /** Without a reason: this host's ranks are done. A reason is told to the others, who meet again. */
  leave(why?: string): void
}

interface Joined {
  readonly node: JobNode
  readonly rank: number | undefined
  /** A name for this joining: several launchers may run on one host. */
  readonly id: string
}
type Plan = Pick<Meeting, 'nodes' | 'token'> & { readonly ids: readonly string[] }

const JOIN = 1

export async function meet(options: MeetOptions): Promise<Meeting> {
  const joined: Joined = { node: options.own, rank: options.nodeRank, id: randomBytes(6).toString('hex') }
  const isFirst = options.isMasterHere && (options.nodeRank ?? 0) === 0
  if (isFirst) {
    try {
      return await host(options, joined)
    } catch (error) {
      // Another launcher of this host was faster.
      if ((error as { cause?: { code?: string } }).cause?.code !== 'EADDRINUSE' || options.nodeRank === 0) throw error
    }
  }
  return await visit(options, joined)
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

async function host(options: MeetOptions, first: Joined): Promise<Meeting> {
  const { master, nodes, notice, timeoutMs, elasticTimeoutMs, signal } = options
  const identity = identityOf(options)
  const all = new Map<string, Joined>([[first.id, first]])
  const peers = new Map<string, Peer>()
  const answers: ((plan: Plan) => void)[] = []
  let arrived: () => void = () => undefined
  let change: (why: string) => void = () => undefined
  let plan: Plan | undefined
  const changed = new Promise<string>((resolve) => {
    change = (why) => {
      if (nodes.min < nodes.max) resolve(why)
    }
  })
  const join = (joined: Joined, peer: Peer) => {
    all.set(joined.id, joined)
    peers.set(joined.id, peer)
    if (plan) change(`${joined.node.host} has come`)
    arrived()
    notice(`${joined.node.host} has come: ${all.size} of ${hostsText(nodes)}.`)
  }
  const accept = async (connection: Connection) => {
    await hearHello(connection, identity)
    let id = ''
    const gone = (error: Error) => {
      const known = all.get(id)
      all.delete(id)
      if (known && plan) change(`${known.node.host} is gone (${error.message})`)
    }
    const peer: Peer = new Peer(connection, {
      who: `launcher at ${connection.remote}`,
      handle: (_, body) => {
        const joined = JSON.parse(Buffer.from(body).toString('utf8')) as Joined
        id = joined.id
        join(joined, peer)
        return new Promise((resolve) => {
          answers.push((plan) => resolve([Buffer.from(JSON.stringify(plan))]))
        })
      },
      // A good-bye is no change: that host's ranks are done, as the others' will be.
      onLost: gone,
    })
  }
  const listener = await socketTransport
    .listen(master, (connection) => void accept(connection).catch(() => connection.close()))
    .catch((error: unknown) => {
      throw portTaken(master, error)
    })
  const leave = (why?: string) => {
    for (const peer of peers.values()) {
      if (why) peer.abort(new Error(why))
      else peer.leave()
    }
    void listener.close()
  }
  try {
    await gathered()
  } catch (error) {
    leave((error as Error).message)
    throw error
  }
  const order = inOrder([...all.values()], options.sortByAddress)
  plan = { nodes: order.map(({ node }) => node), ids: order.map(({ id }) => id), token: options.token ?? secret() }
  for (const answer of answers) answer(plan)
  if (nodes.min === nodes.max) void listener.close()
  return { ...plan, own: plan.ids.indexOf(first.id), changed, leave }

  /** Until the last host is here, or enough are and no more come. */
  async function gathered(): Promise<void> {
    const started = performance.now()
    while (all.size < nodes.max) {
      const isEnough = all.size >= nodes.min
      const wait = isEnough ? elasticTimeoutMs : Math.max(0, timeoutMs - (performance.now() - started))
      if (await nothingFor(wait)) {
        if (isEnough) return
        throw nodesMissing(all.size, hostsText(nodes), master, timeoutMs)
      }
      if (signal.aborted) throw new Error('asked to stop while waiting for other hosts')
    }
  }

  async function nothingFor(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const isQuiet = await new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, ms, true)
      arrived = () => resolve(false)
      signal.addEventListener('abort', () => resolve(false), { once: true })
    })
    clearTimeout(timer)
    return isQuiet
  }
}

async function visit(options: MeetOptions, joined: Joined): Promise<Meeting> {
  const { master, timeoutMs, notice, signal } = options
  const who = `the master at ${master}`
  const { connection } = await reach({
    ...{ transport: socketTransport, endpoint: master, who, timeoutMs, signal },
    greet: (connection) => sayHello(connection, who, identityOf(options)),
    onWait: (reason) => notice(`Waiting for ${who}: ${reason}.`),
  })
  let change: (why: string) => void = () => undefined
  const changed = new Promise<string>((resolve) => {
    change = resolve
  })
  const isFixed = options.nodes.min === options.nodes.max
  const peer = new Peer(connection, {
    who,
    onLost: (error) => (isFixed ? undefined : change(error.message)),
  })
  signal.addEventListener('abort', () => peer.abort(new Error('it was stopped')), { once: true })
  const body = Buffer.from(JSON.stringify(joined))
  const answer = await peer.request(JOIN, [body], { timeoutMs: timeoutMs + options.elasticTimeoutMs, what: 'to join' })
  const plan = JSON.parse(Buffer.from(answer).toString('utf8')) as Plan
  const leave = (why?: string) => (why ? peer.abort(new Error(why)) : peer.leave())
  return { ...plan, own: plan.ids.indexOf(joined.id), changed, leave }
}

/** The master first, then by rank where all have one, by address when asked, else as they came. */
function inOrder(all: readonly Joined[], byAddress: boolean): readonly Joined[] {
  if (all.every(({ rank }) => rank !== undefined)) return [...all].sort((a, b) => a.rank! - b.rank!)
  if (!byAddress) return all
  const key = ({ node }: Joined) => node.host.replace(/\d+/g, (digits) => digits.padStart(3, '0'))
  return [...all].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

function identityOf({ jobId, token, master, nodes }: MeetOptions): Identity {
  // Without a secret from outside this guards against mix-ups, not attackers.
  const derived = createHash('sha256').update(`${master} ${jobId}`).digest('hex')
  return { jobId, token: token ?? derived, role: 'worker', rank: 0, agreement: { nnodes: hostsText(nodes) } }
}

function hostsText({ min, max }: MeetOptions['nodes']): string {
  return min === max ? String(min) : `${min}:${max}`
}

function secret(): string {
  return randomBytes(32).toString('hex')
}
