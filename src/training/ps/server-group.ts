/** @file A worker's connections to all servers: one each, requests, what all workers gather, and the end of any of them. */
import { performance } from 'node:perf_hooks'
import { processEnv, startTimeoutOf } from '../../base/env/index.ts'
import {
  agreedSilence,
  anything,
  type Connection,
  checkMessage,
  clientHandshake,
  connectLocally,
  type Identity,
  LOCAL_PATH,
  openPulse,
  type Parts,
  Peer,
  type PeerIdentity,
  PROBE,
  type Pulse,
  type PulseReading,
  pulsePlace,
  REQUEST_TIMEOUT_MS,
  type Reader,
  reach,
  readBrought,
  readJson,
  socketTransport,
  splitEndpoint,
  type Transport,
} from '../../base/net/index.ts'
import { missingWorkers, workers, workersApart } from './errors.ts'
import { METHODS } from './protocol.ts'
import { readGathered, readLanes } from './rules.ts'
import { LANES, type Lane } from './shard-threads.ts'

export interface ServerGroupOptions {
  /** host:port by rank. */
  readonly servers: readonly string[]
  readonly identity: Identity
  /** @default sockets */
  readonly transport?: Transport | undefined
  /** How long a server may take to come up. @default 5 minutes, one where the launcher has started this process again */
  readonly startTimeoutMs?: number | undefined
  /** How long a live server may take to answer. @default 3 minutes, as FLAGS_rpc_deadline */
  readonly requestTimeoutMs?: number | undefined
  /** Servers of this host are reached over unix sockets. @default true */
  readonly local?: boolean | undefined
  readonly retryMs?: number | undefined
  /** The connections keep the process alive only while something is asked. @default false: always */
  readonly idle?: boolean | undefined
  readonly deadAfterMs?: number | undefined
  readonly onNotice?: ((message: string) => void) | undefined
  /** Aborting ends the group with its reason, also while it still connects. */
  readonly signal?: AbortSignal | undefined
  /** A process of the job was asked to stop: this worker is to stop in good order too. @default it cannot */
  readonly onHalt?: (() => void) | undefined
  /** Called once when a process of the job is gone. */
  readonly onLost?: ((error: Error) => void) | undefined
}

export interface AllGatherOptions<T> {
  /** What each may bring. @default anything, of which nothing is known then */
  readonly read?: Reader<T> | undefined
  /** This worker does nothing else meanwhile: where all workers wait so, at different places, nobody would ever come. @default false */
  readonly blocking?: boolean | undefined
}

interface Reached {
  readonly connection: Connection
  readonly greeting: PeerIdentity
}

const REPORT_SLOW_EVERY_MS = 30 * 1000
const LANE_TIMEOUT_MS = 10 * 1000
/** How long live workers may keep others waiting that gather something. */
const GATHER_TIMEOUT_MS = 6 * 60 * 60 * 1000

export class ServerGroup {
  readonly size: number
  readonly endpoints: readonly string[]
  /** Unix sockets of the servers that are on this host, by rank; those with several threads have several. */
  readonly #localPaths: (readonly string[])[] = []
  /** Connections to further threads of servers on other hosts, by rank. */
  readonly #lanes: Peer[][] = []
  readonly #options: ServerGroupOptions
  /** Undefined where frames do not go over sockets, or no thread could be started. */
  #pulse: Promise<Pulse | undefined> = Promise.resolve(undefined)
  #peers: readonly Peer[] = []
  #failure: Error | undefined
  readonly #ending = new AbortController()
  /** By server: when it was last reported to be slow. */
  readonly #reportedSlow: number[] = []
  readonly #failureListeners: ((reason: Error) => void)[] = []
  /** Where this worker waits for others, by name: for whom. */
  readonly #gathering = new Map<string, readonly number[]>()

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
    group.#pulse = group.#openPulse()
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

  /** Gathers a value of every worker (at server 0); returns them by rank. Each worker must call it with the same name. */
  allGatherJson<T>(
    name: string,
    what: T,
    options: AllGatherOptions<T> & { readonly read: Reader<T> },
  ): Promise<readonly T[]>
  allGatherJson(name: string, what: unknown, options?: AllGatherOptions<unknown>): Promise<readonly unknown[]>
  async allGatherJson(
    name: string,
    what: unknown,
    { blocking = false, read = anything }: AllGatherOptions<unknown> = {},
  ): Promise<readonly unknown[]> {
    const { onNotice } = this.#options
    const body = Buffer.from(JSON.stringify({ name, what, blocking }))
    const started = performance.now()
    let printed = ''
    try {
      for (;;) {
        const bytes = await this.request(0, METHODS.allGather, [body], `allGather(${name})`)
        const answer = readJson(bytes, 'what was gathered', readGathered)
        if (answer.kind === 'met')
          return answer.brought.map((brought, rank) =>
            readBrought(workers([rank]), () => read(brought, 'what it brought')),
          )
        if (answer.kind === 'apart') throw workersApart(name, answer.places)
        if (performance.now() - started > GATHER_TIMEOUT_MS)
          throw missingWorkers(name, answer.awaited, GATHER_TIMEOUT_MS)
        this.#gathering.set(name, answer.awaited)
        const message = `Waiting at "${name}" for ${workers(answer.awaited)}.`
        if (message !== printed) onNotice?.(message)
        printed = message
      }
    } finally {
      this.#gathering.delete(name)
    }
  }

  /** Who does not answer, and what was asked: workers that others wait for, else servers. */
  waitingFor(): readonly string[] {
    const gathered = [...this.#gathering].map(([name, awaited]) => `${workers(awaited)} at "${name}"`)
    if (gathered.length > 0) return gathered
    return [...this.#peers, ...this.#lanes.flat()].flatMap(({ who, unanswered }) =>
      unanswered.map((what) => `${who}: ${what}`),
    )
  }

  /** Calls `listener` when the job ends before its time. */
  onFailure(listener: (reason: Error) => void): void {
    this.#failureListeners.push(listener)
  }

  /** Says that a server lets this worker wait; not again for a while. */
  reportSlow(server: number, what: string, seconds: number): void {
    const now = performance.now()
    if (now - (this.#reportedSlow[server] ?? Number.NEGATIVE_INFINITY) < REPORT_SLOW_EVERY_MS) return
    this.#reportedSlow[server] = now
    const who = `server[${server}] ${this.#options.servers[server]}`
    this.#options.onNotice?.(
      `Waiting for ${who}: no answer to ${what} for ${seconds} s. It is alive, but slow or waiting for others.`,
    )
  }

  /** Has all workers stop in good order. */
  halt(): void {
    // A server that is gone, or left already, ends the job by itself.
    if (!this.#failure && this.#peers.length > 0) this.request(0, METHODS.halt, [], 'halt()').catch(() => undefined)
  }

  /** Good-bye to all servers: this worker is done. */
  close(): void {
    for (const peer of [...this.#peers, ...this.#lanes.flat()]) peer.leave()
    void this.#closePulse()
  }

  /** Sends every server the reason why the job ends. */
  abort(reason: Error): void {
    this.#failure ??= reason
    this.#ending.abort()
    for (const peer of [...this.#peers, ...this.#lanes.flat()]) peer.abort(reason)
    void this.#closePulse()
    for (const listener of this.#failureListeners) listener(reason)
  }

  async #connect(endpoint: string, rank: number): Promise<Peer> {
    const {
      identity,
      transport = socketTransport,
      startTimeoutMs: timeoutMs = startTimeoutOf(processEnv()),
    } = this.#options
    const { retryMs, deadAfterMs, idle = false, local: nearby = true, onNotice } = this.#options
    const who = `server[${rank}] ${endpoint}`
    const onWait = (reason: string) => onNotice?.(`Waiting for ${who} (${reason}).`)
    const over = async (facts: Readonly<Record<string, string>> = {}) =>
      reach({
        transport,
        endpoint,
        who,
        timeoutMs,
        tls: identity.tls,
        onWait,
        signal: this.#ending.signal,
        greet: (connection) => clientHandshake(connection, who, identity, facts),
      })
    const probe = transport === socketTransport && nearby ? await over({ [PROBE]: 'yes' }) : undefined
    const local = probe && (await this.#locally(probe, rank, who))
    const { connection, greeting } = local ?? (await this.#remotely(await over(), rank, who))
    return new Peer(connection, {
      who,
      idle,
      handle: (method) => {
        checkMessage(method === METHODS.halt, `request ${method} of a server`)
        this.#options.onHalt?.()
        return [Uint8Array.of(this.#options.onHalt ? 1 : 0)]
      },
      onLost: (error) => this.#lost(error),
      onSlow: (what, seconds) => this.reportSlow(rank, what, seconds),
      retryMs,
      deadAfterMs: deadAfterMs ?? agreedSilence(identity, greeting),
      pulse: await this.#hear(greeting, rank, who),
      stuckAfterMs: this.#options.requestTimeoutMs,
      onStuck: onNotice,
    })
  }

  /** Starts to listen to the pulse of a server; undefined where it has none. */
  async #hear({ facts }: PeerIdentity, rank: number, who: string): Promise<(() => PulseReading) | undefined> {
    const [pulse, place] = [await this.#pulse, pulsePlace(facts)]
    if (!pulse || !place) return undefined
    const { servers, local = true } = this.#options
    const endpoint = `${splitEndpoint(servers[rank]!).host}:${splitEndpoint(place.endpoint).port}`
    pulse.hear({ endpoint, path: local ? place.path : undefined, other: rank, who })
    return () => pulse.of(rank)
  }

  async #openPulse(): Promise<Pulse | undefined> {
    const { identity, transport = socketTransport, onNotice = () => undefined } = this.#options
    if (transport !== socketTransport) return undefined
    return openPulse({ identity, others: this.size, onWarning: onNotice })
  }

  async #closePulse(): Promise<void> {
    await (await this.#pulse)?.close()
  }

  /** By the path that the server named to a probe, which ends here. */
  async #locally({ connection, greeting }: Reached, rank: number, who: string): Promise<Reached | undefined> {
    connection.close()
    const path = greeting.facts[LOCAL_PATH]
    const local = path ? await connectLocally(socketTransport, path, who, this.#options.identity) : undefined
    const others = lanesOf(greeting).flatMap((lane) => lane.path ?? [])
    if (local) this.#localPaths[rank] = [path!, ...others]
    return local && { connection: local, greeting }
  }

  /** A server on another host: its further threads are connected to as well. */
  async #remotely({ connection, greeting }: Reached, rank: number, who: string): Promise<Reached> {
    const { identity, transport = socketTransport, servers } = this.#options
    const { host } = splitEndpoint(servers[rank]!)
    this.#lanes[rank] = await Promise.all(
      lanesOf(greeting).map(async ({ endpoint }) => {
        const { connection: lane } = await reach({
          transport,
          endpoint: `${host}:${splitEndpoint(endpoint).port}`,
          who,
          timeoutMs: LANE_TIMEOUT_MS,
          tls: identity.tls,
          greet: (fresh) => clientHandshake(fresh, who, identity),
        })
        return new Peer(lane, { who, onLost: (error) => this.#lost(error), deadAfterMs: Number.POSITIVE_INFINITY })
      }),
    )
    return { connection, greeting }
  }

  #lost(error: Error): void {
    if (this.#failure) return
    this.abort(error)
    this.#options.onLost?.(error)
  }
}

function lanesOf({ facts }: PeerIdentity): readonly Lane[] {
  return readJson(Buffer.from(facts[LANES] ?? '[]'), 'lanes', readLanes)
}
