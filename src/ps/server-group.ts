/** @file A worker's hold on all servers: one connection each, requests, meetings, and the end of any of them. */
import { performance } from 'node:perf_hooks'
import {
  type Connection,
  connectLocally,
  type Identity,
  LOCAL_PATH,
  type Parts,
  Peer,
  type PeerIdentity,
  PROBE,
  reach,
  sayHello,
  socketTransport,
  splitEndpoint,
  type Transport,
} from '../net/index.ts'
import { missingWorkers, workers, workersApart } from './errors.ts'
import type { MeetingAnswer } from './meetings.ts'
import { METHODS } from './protocol.ts'
import { LANES, type Lane } from './shard-threads.ts'

export interface ServerGroupOptions {
  /** host:port by rank. */
  readonly servers: readonly string[]
  readonly identity: Identity
  /** @default sockets */
  readonly transport?: Transport
  /** How long a server may take to come up. @default 5 minutes */
  readonly startTimeoutMs?: number
  /** How long a live server may take to answer. @default 3 minutes, as FLAGS_rpc_deadline */
  readonly requestTimeoutMs?: number
  /** How long live workers may keep others waiting at a meeting. @default 6 hours */
  readonly meetingTimeoutMs?: number
  /** Servers of this host are reached over unix sockets. @default true */
  readonly local?: boolean
  readonly retryMs?: number
  /** The connections keep the process alive only while something is asked. @default false: always */
  readonly idle?: boolean
  readonly deadAfterMs?: number
  readonly onNotice?: (message: string) => void
  /** Aborting ends the group with its reason, also while it still connects. */
  readonly signal?: AbortSignal
  /** Called once when a process of the job is gone. */
  readonly onLost?: (error: Error) => void
}

export interface MeetOptions {
  /** This worker does nothing else meanwhile: where all workers wait so, at different meetings, nobody would ever come. @default false */
  readonly blocking?: boolean
}

interface Reached {
  readonly connection: Connection
  readonly greeting: PeerIdentity
}

const TELL_SLOW_EVERY_MS = 30 * 1000
const LANE_TIMEOUT_MS = 10 * 1000
const START_TIMEOUT_MS = 5 * 60 * 1000
export const REQUEST_TIMEOUT_MS = 3 * 60 * 1000
const MEETING_TIMEOUT_MS = 6 * 60 * 60 * 1000

export class ServerGroup {
  readonly size: number
  readonly endpoints: readonly string[]
  /** Unix sockets of the servers that are on this host, by rank; those with several threads have several. */
  readonly #localPaths: (readonly string[])[] = []
  /** Connections to further threads of servers on other hosts, by rank. */
  readonly #lanes: Peer[][] = []
  readonly #options: ServerGroupOptions
  #peers: readonly Peer[] = []
  #failure: Error | undefined
  readonly #ending = new AbortController()
  /** By server: when it was last said that it is slow. */
  readonly #toldSlow: number[] = []
  readonly #toTell: ((reason: Error) => void)[] = []

  private constructor(options: ServerGroupOptions) {
    this.#options = options
    this.size = options.servers.length
    this.endpoints = options.servers
  }

  /** Connects to every server; waits for those that are not up yet. */
  static async open(options: ServerGroupOptions): Promise<ServerGroup> {
    const group = new ServerGroup(options)
    const { signal } = options
    signal?.addEventListener('abort', () => group.abort(signal.reason as Error))
    if (signal?.aborted) throw signal.reason
    const peers = await Promise.allSettled(options.servers.map((endpoint, rank) => group.#connect(endpoint, rank)))
    group.#peers = peers.flatMap((peer) => (peer.status === 'fulfilled' ? [peer.value] : []))
    const failed = peers.find((peer) => peer.status === 'rejected')
    if (failed) {
      const reason = group.#failure ?? (failed.reason as Error)
      group.abort(reason)
      throw reason
    }
    return group
  }

  /** Asks one server, in the name of a trainer thread where one is given. `parts` must stay as they are until the answer. */
  request(server: number, method: number, parts: Parts, what: string, thread = 0): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#failure) return Promise.reject(this.#failure)
    const { requestTimeoutMs: timeoutMs = REQUEST_TIMEOUT_MS } = this.#options
    const lanes = [this.#peers[server]!, ...(this.#lanes[server] ?? [])]
    return lanes[thread % lanes.length]!.request(method, parts, { timeoutMs, what })
  }

  /** The unix socket at which a server of this host serves a trainer thread. */
  localPath(server: number, thread: number): string | undefined {
    const paths = this.#localPaths[server]
    return paths?.[thread % paths.length]
  }

  /** Asks one server; `parts` may change as soon as this has returned, the answer is gone when `read` returns. */
  ask<T>(
    server: number,
    method: number,
    parts: Parts,
    what: string,
    read: (body: Uint8Array<ArrayBuffer>) => T,
  ): Promise<T> {
    return this.request(server, method, [Buffer.concat(parts)], what).then(read)
  }

  /** Asks all servers the same. */
  async requestAll(method: number, parts: Parts, what: string): Promise<void> {
    await Promise.all(this.#peers.map((_, server) => this.request(server, method, parts, what)))
  }

  /** Meets all workers (at server 0): brings something, gets what each has brought, by rank. */
  async meet<T>(name: string, what: T, { blocking = false }: MeetOptions = {}): Promise<readonly T[]> {
    const { meetingTimeoutMs = MEETING_TIMEOUT_MS, onNotice } = this.#options
    const body = Buffer.from(JSON.stringify({ name, what, blocking }))
    const started = performance.now()
    let told = ''
    for (;;) {
      const text = Buffer.from(await this.request(0, METHODS.meet, [body], `meet(${name})`)).toString('utf8')
      const answer = JSON.parse(text) as MeetingAnswer
      if (answer.kind === 'met') return answer.brought as readonly T[]
      if (answer.kind === 'apart') throw workersApart(name, answer.places)
      if (performance.now() - started > meetingTimeoutMs) throw missingWorkers(name, answer.awaited, meetingTimeoutMs)
      const message = `Waiting at "${name}" for ${workers(answer.awaited)}.`
      if (message !== told) onNotice?.(message)
      told = message
    }
  }

  /** Calls `tell` when the job ends before its time. */
  onFailure(tell: (reason: Error) => void): void {
    this.#toTell.push(tell)
  }

  /** Says that a server lets this worker wait; not again for a while. */
  tellSlow(server: number, what: string, seconds: number): void {
    const now = performance.now()
    if (now - (this.#toldSlow[server] ?? Number.NEGATIVE_INFINITY) < TELL_SLOW_EVERY_MS) return
    this.#toldSlow[server] = now
    const who = `server[${server}] ${this.#options.servers[server]}`
    this.#options.onNotice?.(
      `Waiting for ${who}: no answer to ${what} for ${seconds} s. It is alive, but slow or waiting for others.`,
    )
  }

  /** Good-bye to all servers: this worker is done. */
  close(): void {
    for (const peer of [...this.#peers, ...this.#lanes.flat()]) peer.leave()
  }

  /** Tells every server why the job ends. */
  abort(reason: Error): void {
    this.#failure ??= reason
    this.#ending.abort()
    for (const peer of [...this.#peers, ...this.#lanes.flat()]) peer.abort(reason)
    for (const tell of this.#toTell) tell(reason)
  }

  async #connect(endpoint: string, rank: number): Promise<Peer> {
    const { identity, transport = socketTransport, startTimeoutMs: timeoutMs = START_TIMEOUT_MS } = this.#options
    const { retryMs, deadAfterMs, idle = false, local: nearby = true, onNotice } = this.#options
    const who = `server[${rank}] ${endpoint}`
    const onWait = (reason: string) => onNotice?.(`Waiting for ${who} (${reason}).`)
    const over = async (facts: Readonly<Record<string, string>> = {}) =>
      reach({
        ...{ transport, endpoint, who, timeoutMs, onWait, signal: this.#ending.signal },
        greet: (connection) => sayHello(connection, who, identity, facts),
      })
    const local =
      transport === socketTransport && nearby
        ? await this.#locally(await over({ [PROBE]: 'yes' }), rank, who)
        : undefined
    const connection = local ?? (await this.#remotely(await over(), rank, who))
    return new Peer(connection, {
      ...{ who, idle },
      onLost: (error) => this.#lost(error),
      onSlow: (what, seconds) => this.tellSlow(rank, what, seconds),
      ...(retryMs !== undefined && { retryMs }),
      ...(deadAfterMs !== undefined && { deadAfterMs }),
    })
  }

  /** By the path that the server named to a probe, which ends here. */
  async #locally({ connection, greeting }: Reached, rank: number, who: string): Promise<Connection | undefined> {
    connection.close()
    const path = greeting.facts[LOCAL_PATH]
    const local = path ? await connectLocally(socketTransport, path, who, this.#options.identity) : undefined
    const others = lanesOf(greeting).flatMap((lane) => lane.path ?? [])
    if (local) this.#localPaths[rank] = [path!, ...others]
    return local
  }

  /** A server on another host: its further threads are connected to as well. */
  async #remotely({ connection, greeting }: Reached, rank: number, who: string): Promise<Connection> {
    const { identity, transport = socketTransport, servers } = this.#options
    const { host } = splitEndpoint(servers[rank]!)
    this.#lanes[rank] = await Promise.all(
      lanesOf(greeting).map(async ({ endpoint }) => {
        const lane = await transport.connect(`${host}:${splitEndpoint(endpoint).port}`, { timeoutMs: LANE_TIMEOUT_MS })
        await sayHello(lane, who, identity)
        return new Peer(lane, { who, onLost: (error) => this.#lost(error), deadAfterMs: Number.POSITIVE_INFINITY })
      }),
    )
    return connection
  }

  #lost(error: Error): void {
    if (this.#failure) return
    this.abort(error)
    this.#options.onLost?.(error)
  }
}

function lanesOf({ facts }: PeerIdentity): readonly Lane[] {
  return JSON.parse(facts[LANES] ?? '[]') as Lane[]
}
