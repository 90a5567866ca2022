/** @file The hosts of a job while it runs: which of them are gone, and that they come back, with nothing of an earlier start left there. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Hosts, type OpenHostsOptions, openHosts } from './open-hosts.ts'
import type { RemoteHost } from './remote-host.ts'

export interface HostKeeperOptions extends OpenHostsOptions {
  readonly signal: AbortSignal
  /** How long a host may be away. */
  readonly awayMs: number
  /** Called on a host that is back: ends what an earlier start left there, and makes sure that the job's folder is; throws where it cannot be used. */
  readonly prepare: (host: RemoteHost, node: number) => Promise<void>
}

const LOOK_MS = 1000

export class HostKeeper {
  readonly #options: HostKeeperOptions
  readonly #first: readonly RemoteHost[]
  /** By node, as they are reached now. */
  readonly #hosts: RemoteHost[]
  readonly #lost = new Map<RemoteHost, Error>()
  readonly #reopened: Hosts[] = []

  constructor(hosts: readonly RemoteHost[], options: HostKeeperOptions) {
    this.#options = options
    this.#first = hosts
    this.#hosts = [...hosts]
    for (const host of hosts) this.#watch(host)
  }

  get awayMs(): number {
    return this.#options.awayMs
  }

  get all(): readonly RemoteHost[] {
    return this.#hosts
  }

  /** How a host is reached now that was one of the first. */
  now(first: RemoteHost): RemoteHost {
    return this.#hosts[this.#first.indexOf(first)]!
  }

  /** Nodes whose hosts are gone. */
  lost(): readonly number[] {
    return [...this.#hosts.keys()].filter((node) => this.#lost.has(this.#hosts[node]!))
  }

  /** Why each of these cannot be reached, as far as is known. */
  reasons(): readonly string[] {
    return this.lost().map((node) => this.#lost.get(this.#hosts[node]!)!.message)
  }

  /** Waits for hosts that are gone; whether all are there then. */
  async comeBack(): Promise<boolean> {
    const { signal, awayMs, emit } = this.#options
    const until = performance.now() + awayMs
    for (let gone = this.lost(); gone.length > 0; gone = this.lost()) {
      if (signal.aborted || performance.now() >= until) return false
      const names = gone.map((node) => this.#hosts[node]!.host.name).join(', ')
      const left = Math.ceil((until - performance.now()) / 1000)
      const message = `${names}: waiting up to ${left} s for ${gone.length === 1 ? 'it' : 'them'} to come back. Ctrl+C ends the job.`
      emit({ kind: 'warning', message })
      await Promise.all(gone.map(async (node) => await this.#reopen(node, until)))
    }
    return !signal.aborted
  }

  async close(): Promise<void> {
    await Promise.all(this.#reopened.map(async ({ close }) => await close()))
  }

  #watch(host: RemoteHost): void {
    void host.lost.then((error) => this.#lost.set(host, error))
  }

  async #reopen(node: number, until: number): Promise<void> {
    const { signal, emit, prepare } = this.#options
    const gone = this.#hosts[node]!
    // What is left of the connection would hold its place.
    gone.close()
    await gone.channel.close()
    for (; performance.now() < until && !signal.aborted; await sleep(LOOK_MS)) {
      try {
        const opened = await openHosts([gone.host], this.#options)
        const [host] = opened.all as [RemoteHost]
        await prepare(host, node).catch(async (error: unknown) => {
          await opened.close()
          throw error
        })
        this.#watch(host)
        this.#reopened.push(opened)
        this.#hosts[node] = host
        emit({ kind: 'notice', message: `${host.host.name} is back.` })
        return
      } catch (error) {
        this.#lost.set(gone, error as Error)
      }
    }
  }
}
