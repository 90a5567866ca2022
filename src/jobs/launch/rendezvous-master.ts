/** @file The master of a rendezvous: hosts come to it, it gives all of them the whole job, and hears of those that come or go later. */
import { createHash } from 'node:crypto'
import {
  agreedSilence,
  type Connection,
  checkMessage,
  credentialsOf,
  type Identity,
  type Listener,
  Peer,
  readJson,
  Strangers,
  serverHandshake,
  socketTransport,
  type TlsSetting,
} from '../../base/net/index.ts'
import type { CollectiveLayout } from './collective-layout.ts'
import { nodesMissing, notExpected, portTaken } from './errors.ts'
import type { JobNode } from './process-env.ts'
import { type JobPlan, type Joined, readJoined } from './rendezvous-messages.ts'

export interface RendezvousOptions {
  /** host:port */
  readonly master: string
  /** Whether this host may be the master. */
  readonly isMasterHere: boolean
  readonly layout: Pick<CollectiveLayout, 'nodes' | 'nodeRank' | 'sortByAddress' | 'elasticTimeoutMs'>
  readonly own: JobNode
  /** Of the membership that this host was in last. @default 0: it comes for the first time */
  readonly number?: number | undefined
  /** This host knows of something to go on from. @default false */
  readonly resumes?: boolean | undefined
  /** Hosts that will come: once they have, only a moment more is waited. @default not known */
  readonly expected?: number | undefined
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

/** A host has come or gone. */
export interface Change {
  readonly why: string
  /** Nobody is lost: all ranks can stop together, and save. */
  readonly inOrder: boolean
}

export const JOIN = 1
const SETTLE_MS = 400
const HAS_COME = 'has come'
export const ASKED_TO_STOP = 'asked to stop'
/** Reasons travel as text. */
export const changeOf = (why: string): Change => ({
  why,
  inOrder: why.includes(HAS_COME) || why.includes(ASKED_TO_STOP),
})

export class Master {
  /** Of hosts that come or go after the plan was published. */
  readonly changed: Promise<Change>
  readonly #options: RendezvousOptions
  readonly #joined: Map<string, Joined>
  readonly #peers = new Map<string, Peer>()
  readonly #answers: ((plan: JobPlan) => void)[] = []
  #listener: Listener | undefined
  #isPublished = false
  /** All are on their way to another meeting; this host too. */
  #isOver = false
  #hasLeft = false
  #onArrival: () => void = () => undefined
  #onChange: (change: Change) => void = () => undefined

  /** Hosts that have come and not gone. */
  get remaining(): number {
    return this.#joined.size
  }

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
        if (this.#hasLeft) throw new Error('the hosts meet again')
        // Who is faster than this host, whose ranks still stop, has its place in the next meeting: it hears when this one ends.
        if (!this.#isOver) this.#refuse(joined)
        id = joined.id
        this.#peers.set(id, peer)
        if (this.#isOver) return new Promise(() => undefined)
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
    if (others.length >= nodes.max) throw notExpected(node.host, `${nodes.max} hosts have come already`)
    if (this.#joined.has(id)) throw notExpected(node.host, 'it has come already')
    if (twice !== undefined) throw notExpected(node.host, `another host has brought ${twice}`)
    if (rank !== undefined && others.some((other) => other.rank === rank))
      throw notExpected(node.host, `another host has node rank ${rank}`)
  }

  #add(joined: Joined): void {
    const { layout, notice } = this.#options
    const { host } = joined.node
    this.#joined.set(joined.id, joined)
    if (this.#isPublished) this.#onChange(changeOf(`${host} ${HAS_COME}`))
    this.#onArrival()
    notice(`${host} has come: ${this.#joined.size} of ${hostsText(layout.nodes)}.`)
  }

  #remove(id: string, error: Error): void {
    const known = this.#joined.get(id)
    this.#joined.delete(id)
    if (known && this.#isPublished) this.#onChange(changeOf(`${known.node.host} is gone (${error.message})`))
  }

  /** Until the last host is here, or enough are and no more come. */
  async gather(): Promise<void> {
    const { master, layout, timeoutMs, signal } = this.#options
    const { nodes, elasticTimeoutMs } = layout
    const { expected = nodes.max } = this.#options
    const started = performance.now()
    while (this.#joined.size < nodes.max) {
      const isEnough = this.#joined.size >= nodes.min
      const enoughMs = this.#joined.size >= expected ? Math.min(SETTLE_MS, elasticTimeoutMs) : elasticTimeoutMs
      const waitMs = isEnough ? enoughMs : Math.max(0, timeoutMs - (performance.now() - started))
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
    const number = 1 + Math.max(...order.map((joined) => joined.number ?? 0))
    const resumes = order.some((joined) => joined.resumes)
    const plan = { nodes: order.map(({ node }) => node), ids: order.map(({ id }) => id), number, resumes }
    this.#isPublished = true
    for (const answer of this.#answers) answer(plan)
    if (!isElastic(this.#options)) void this.#listener!.close()
    return plan
  }

  /** `some`: tells these, and stays. */
  leave(why?: string, some?: readonly string[]): void {
    this.#isOver = true
    this.#hasLeft = some === undefined
    for (const [id, peer] of this.#peers) if (some?.includes(id) ?? true) leavePeer(peer, why)
    if (!some) void this.#listener!.close()
  }
}

export function leavePeer(peer: Peer, why: string | undefined): void {
  if (why) peer.abort(new Error(why))
  else peer.leave()
}

export function isElastic({ layout }: RendezvousOptions): boolean {
  return layout.nodes.min < layout.nodes.max
}

/** The master first, then by rank where all have one, by address when asked, else as they came. */
function inOrder(all: readonly Joined[], byAddress: boolean): readonly Joined[] {
  if (all.every(({ rank }) => rank !== undefined)) return [...all].sort((a, b) => a.rank! - b.rank!)
  if (!byAddress) return all
  const key = ({ node }: Joined) => node.host.replace(/\d+/g, (digits) => digits.padStart(3, '0'))
  return [...all].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

export function identityOf({ job, master, layout }: RendezvousOptions): Identity {
  const { id: jobId, token, tls, hosts, silenceMs } = job
  // Without a secret from outside this guards against mix-ups, not attackers.
  const derived = createHash('sha256').update(`${master} ${jobId}`).digest('hex')
  const secrets = { jobId, token: token ?? derived, derivedToken: token === undefined, tls, hosts, silenceMs }
  return { ...credentialsOf(secrets, []), role: 'worker', rank: 0, agreement: { nnodes: hostsText(layout.nodes) } }
}

function hostsText({ min, max }: CollectiveLayout['nodes']): string {
  return min === max ? String(min) : `${min}:${max}`
}
