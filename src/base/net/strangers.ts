/** @file Who may say hello, and who was refused: hosts the job names, not too many at a time, and one warning a second at most. */
import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'
import { formatUserError, isUserError, type UserError } from '../util/index.ts'
import { stranger } from './errors.ts'
import { PortProbe, sendNo } from './handshake.ts'
import type { Connection, Door } from './transport.ts'

/** One line in so long, so that strangers cannot fill the log. */
const SECOND_MS = 1000
/** Hellos of one host that may fail in a second; a worker that comes meanwhile tries again by itself. */
const REFUSALS_A_SECOND = 20
/** Connections of one host, and of all, that have not yet proved that they belong here. */
const [PENDING_OF_HOST, PENDING_OF_ALL] = [128, 1024]
/** Names of hosts are looked up again so long after the last time, when one comes that was not among them. */
const LOOK_UP_EVERY_MS = 5000

export interface StrangersOptions {
  readonly onWarning: (message: string) => void
  /** Only these may connect, and processes of this host. @default all */
  readonly hosts?: readonly string[] | undefined
  readonly now?: (() => number) | undefined
}

export class Strangers implements Door {
  readonly #onWarning: (message: string) => void
  readonly #hosts: NamedHosts | undefined
  readonly #now: () => number
  #warnedAt = Number.NEGATIVE_INFINITY
  #unprinted = 0
  /** By host: when the first of a second was refused, and how many since. */
  readonly #refusals = new Map<string, { since: number; count: number }>()
  readonly #pending = new Map<string, number>()
  #pendingOfAll = 0

  constructor({ onWarning, hosts, now = Date.now }: StrangersOptions) {
    this.#onWarning = onWarning
    this.#now = now
    this.#hosts = hosts && new NamedHosts(hosts, now)
  }

  readonly isWanted = (remote: string): boolean => {
    if (this.isTooOften(remote)) return false
    return (this.#pending.get(hostOf(remote)) ?? 0) < PENDING_OF_HOST && this.#pendingOfAll < PENDING_OF_ALL
  }

  /** Runs `admit` for a connection; closes the connection when that fails. */
  async guard(connection: Connection, admit: (connection: Connection) => Promise<void>): Promise<void> {
    const { remote } = connection
    if (this.isTooOften(remote)) {
      this.dropped()
      return connection.close()
    }
    const entered = this.entering(remote)
    try {
      if (this.#hosts && !(await this.#hosts.has(hostOf(remote)))) {
        sendNo(connection)
        throw notNamed(remote)
      }
      await admit(connection)
    } catch (error) {
      connection.close()
      this.refused(remote, error)
    } finally {
      entered()
    }
  }

  isTooOften(remote: string): boolean {
    const known = this.#refusals.get(hostOf(remote))
    return known !== undefined && !this.#isOver(known) && known.count >= REFUSALS_A_SECOND
  }

  readonly entering = (remote: string): (() => void) => {
    const host = hostOf(remote)
    this.#count(host, 1)
    return () => this.#count(host, -1)
  }

  readonly refused = (remote: string, error: unknown): void => {
    const host = hostOf(remote)
    // Of hosts whose second is over nothing needs to be known.
    for (const [other, known] of this.#refusals) if (this.#isOver(known)) this.#refusals.delete(other)
    const { since, count } = this.#refusals.get(host) ?? { since: this.#now(), count: 0 }
    this.#refusals.set(host, { since, count: count + 1 })
    if (!(error instanceof PortProbe)) this.#warn(error)
  }

  readonly dropped = (): void => {
    this.#unprinted++
  }

  #count(host: string, change: 1 | -1): void {
    this.#pendingOfAll += change
    const count = (this.#pending.get(host) ?? 0) + change
    if (count > 0) this.#pending.set(host, count)
    else this.#pending.delete(host)
  }

  #warn(error: unknown): void {
    this.#unprinted++
    if (this.#now() - this.#warnedAt < SECOND_MS) return
    const message = isUserError(error) ? wordsOf(error) : String(error)
    const others = this.#unprinted > 1 ? ` (and ${this.#unprinted - 1} more since the last such line)` : ''
    this.#onWarning(`A connection was refused${others}: ${message}`)
    this.#warnedAt = this.#now()
    this.#unprinted = 0
  }

  /** A second begins with its first refusal: by the clock, the first of the next could come too early for a line, and the rest of it unheard. */
  #isOver({ since }: { readonly since: number }): boolean {
    return this.#now() - since >= SECOND_MS
  }
}

/** One that left before it had proved anything never was a part of the job: its end is not the job's. */
const wordsOf = (error: UserError) =>
  error.code === 'NET_PEER_LOST' ? `${error.message}; the job goes on without it` : formatUserError(error)

function hostOf(remote: string): string {
  const at = remote.lastIndexOf(':')
  return at < 0 ? remote : remote.slice(0, at).replace(/^::ffff:/, '')
}

function notNamed(remote: string) {
  return stranger(
    remote,
    'the job does not name its address, and without a token it lets in no other',
    'set the same OARFISH_JOB_TOKEN for every process of the job: then it does not matter where they are',
  )
}

/** Addresses of hosts by their names. */
class NamedHosts {
  readonly #names: readonly string[]
  readonly #now: () => number
  #addresses: Promise<ReadonlySet<string>> | undefined
  #lookedUpAt = 0

  constructor(names: readonly string[], now: () => number) {
    this.#names = [...new Set(names)]
    this.#now = now
  }

  async has(address: string): Promise<boolean> {
    if (isThisHost(address)) return true
    if ((await this.#known()).has(address)) return true
    if (this.#now() - this.#lookedUpAt < LOOK_UP_EVERY_MS) return false
    this.#addresses = undefined
    return (await this.#known()).has(address)
  }

  #known(): Promise<ReadonlySet<string>> {
    if (!this.#addresses) {
      this.#lookedUpAt = this.#now()
      const each = this.#names.map((name) => lookup(name, { all: true }).catch(() => []))
      this.#addresses = Promise.all(each).then((found) => new Set(found.flat().map(({ address }) => address)))
    }
    return this.#addresses
  }
}

/** Whoever may open sockets here, and needs no network for it. */
function isThisHost(address: string): boolean {
  if (address === '(this host)' || address === '::1' || address.startsWith('127.')) return true
  return Object.values(networkInterfaces()).some((some) => some?.some((own) => own.address === address))
}
