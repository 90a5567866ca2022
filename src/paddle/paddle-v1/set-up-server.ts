/** @file A server's half of the set-up: waits for all trainers, and notices when one is gone before it has joined the job. */
import type { Env } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import {
  type Connection,
  checkMessage,
  type Identity,
  type Listener,
  Peer,
  type PeerIdentity,
  type Refusal,
  readJson,
  Strangers,
  serverHandshake,
  socketTransport,
} from '../../base/net/index.ts'
import { isUserError, type UserError } from '../../base/util/index.ts'
import { setUpError, trainersText } from './errors.ts'
import {
  busyMs,
  disagreement,
  identityOf,
  type Ports,
  readSetUp,
  SET_UP_METHODS,
  type SetUp,
  START_TIMEOUT_MS,
  TRAINERS,
} from './set-up.ts'

export interface AwaitTrainersOptions {
  readonly endpoint: string
  /** How many must come. @default what the first of them says */
  readonly trainers?: number | undefined
  readonly options: Ports
  readonly env: Env
  readonly emit: EventSink
  readonly signal: AbortSignal
  /** @default 5 minutes */
  readonly startTimeoutMs?: number | undefined
}

export interface AgreedSetUp extends SetUp {
  /** Aborted with the reason when a trainer is gone that has not joined the job yet. */
  readonly lost: AbortSignal
}

/** A trainer that said why it ends is about to: a launcher is to see it end before those that only learned of it. */
const LAST_WORDS_MS = 1500
/** How long a server whose set-up failed stays to inform trainers that come late: they would wait for one that has ended. */
const LATECOMERS_MS = 20_000
/** Trainers that are started together come within seconds of each other. */
const NOTICE_AFTER_MS = 5000

/** Resolves when all trainers have come and agree. Rejects when one differs, is gone, or does not come. */
export function awaitTrainers(options: AwaitTrainersOptions): Promise<AgreedSetUp> {
  return new Promise((resolve, reject) => new SetUpServer(options, { resolve, reject }).start())
}

interface Settle {
  readonly resolve: (agreed: AgreedSetUp) => void
  readonly reject: (error: Error) => void
}

/** A trainer that has announced what it trains. */
interface Announced {
  readonly setUp: SetUp
  readonly answer: (error?: Error) => void
}

class SetUpServer {
  readonly #options: AwaitTrainersOptions
  readonly #settle: Settle
  readonly #identity: Identity
  readonly #strangers: Strangers
  /** By rank: trainers that are connected, and those of them that have announced. */
  readonly #connected = new Map<number, Peer>()
  readonly #announced = new Map<number, Announced>()
  /** Ranks that were refused, or have heard why the set-up failed. */
  readonly #informed = new Set<number>()
  readonly #lost = new AbortController()
  readonly #onStop = () =>
    this.#fail(setUpError('The server was stopped before its trainers had come.', 'Start the job again.'))
  #trainers: number | undefined
  #listening: Promise<Listener> | undefined
  #late: NodeJS.Timeout | undefined
  #notice: NodeJS.Timeout | undefined
  #isOver = false
  /** Why the set-up failed. */
  #failure: Error | undefined
  #farewell: NodeJS.Timeout | undefined

  constructor(options: AwaitTrainersOptions, settle: Settle) {
    this.#options = options
    this.#trainers = options.trainers
    this.#settle = settle
    this.#identity = identityOf(options.options, options.env, 'server', 0)
    this.#strangers = new Strangers({ onWarning: (message) => options.emit({ kind: 'warning', message }) })
  }

  start(): void {
    const { endpoint, emit, signal, startTimeoutMs = START_TIMEOUT_MS } = this.#options
    const { tls } = this.#identity
    const accept = (connection: Connection) => void this.#strangers.guard(connection, (one) => this.#admit(one))
    this.#listening = socketTransport.listen(endpoint, accept, { tls, door: this.#strangers })
    this.#late = setTimeout(() => this.#fail(tooLate(this.#without(this.#announced), startTimeoutMs)), startTimeoutMs)
    signal.addEventListener('abort', this.#onStop)
    this.#listening.then(
      () => emit({ kind: 'notice', message: `The server waits for its trainers at ${endpoint}.` }),
      (error: Error) => this.#fail(cannotListen(endpoint, error)),
    )
  }

  async #admit(connection: Connection): Promise<void> {
    const { emit } = this.#options
    let stranger: UserError | undefined
    const objection = ({ rank, facts }: PeerIdentity): Refusal | undefined => {
      if (this.#connected.has(rank))
        return { refusal: `there is a trainer ${rank} already`, hint: 'give every trainer a --trainer_id of its own' }
      const expected = Number(facts[TRAINERS])
      if (!Number.isInteger(expected) || expected < 1 || rank >= expected)
        return { refusal: `it is not one of ${facts[TRAINERS]} trainers`, hint: 'check --trainer_id' }
      this.#trainers ??= expected
      if (expected === this.#trainers) return undefined
      this.#informed.add(rank)
      stranger = otherNumber(`trainer[${rank}] ${connection.remote}`, expected, this.#trainers)
      return { refusal: `it expects ${expected} trainers, this job has ${this.#trainers}`, hint: stranger.hint! }
    }
    const { rank } = await serverHandshake(connection, this.#identity, objection).finally(
      () => stranger && this.#end(stranger),
    )
    this.#notice ??= setTimeout(() => emit({ kind: 'notice', message: this.#awaited() }), NOTICE_AFTER_MS)
    const who = `trainer[${rank}] ${connection.remote}`
    const handle = (method: number, body: Uint8Array) => this.#handle(rank, method, body)
    const onLost = (error: Error) => this.#onLost(who, error)
    const peer = new Peer(connection, { who, deadAfterMs: busyMs(this.#identity), handle, onLost })
    this.#connected.set(rank, peer)
    if (this.#failure) this.#inform(rank, peer, this.#failure)
    if (this.#failure && this.#without(this.#informed).length === 0) this.#leave()
  }

  #inform(rank: number, peer: Peer, failure: Error): void {
    peer.abort(failure)
    this.#informed.add(rank)
  }

  #handle(rank: number, method: number, body: Uint8Array) {
    if (method === SET_UP_METHODS.awaited) return [Buffer.from(this.#awaited())]
    checkMessage(method === SET_UP_METHODS.announce, `request ${method} of a trainer`)
    const setUp = readJson(body, 'announce', readSetUp)
    checkMessage(setUp.trainers === this.#trainers, 'announce: another number of trainers than its hello said')
    return new Promise<readonly Uint8Array[]>((resolve, reject) => {
      this.#announced.set(rank, { setUp, answer: (error) => (error ? reject(error) : resolve([])) })
      if (this.#without(this.#announced).length > 0) return
      const all = [...this.#announced].sort(([a], [b]) => a - b)
      this.#end(disagreement(all.map(([trainer, { setUp: own }]) => [trainer, own])))
    })
  }

  #onLost(who: string, error: Error): void {
    const wasKilled = isUserError(error) && error.code === 'NET_PEER_LOST'
    const reason = wasKilled ? error : failedBefore(who, error)
    const end = () => {
      this.#lost.abort(reason)
      this.#end(reason)
    }
    if (wasKilled) end()
    else setTimeout(end, LAST_WORDS_MS)
  }

  /** The first end counts: without an error all trainers agree. */
  #end(error?: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#late)
    clearTimeout(this.#notice)
    for (const { answer } of this.#announced.values()) answer(error)
    if (error) {
      this.#failure = error
      for (const [rank, peer] of this.#connected) this.#inform(rank, peer, error)
      const uninformed = this.#without(this.#informed)
      if (uninformed.length === 0) {
        this.#leave()
        return
      }
      this.#farewell = setTimeout(() => this.#leave(), LATECOMERS_MS)
      const message = `The job cannot begin; ${trainersText(uninformed)} may come within ${LATECOMERS_MS / 1000} s to hear why.`
      this.#options.emit({ kind: 'notice', message })
    } else {
      this.#close()
      this.#settle.resolve({ ...this.#announced.get(0)!.setUp, lost: this.#lost.signal })
    }
  }

  /** Ends at once: who is not here has no time left to come. */
  #fail(error: Error): void {
    this.#end(error)
    this.#leave()
  }

  /** Everybody knows why the set-up failed, or has had the time to come and hear it. */
  #leave(): void {
    if (!this.#failure) return
    clearTimeout(this.#farewell)
    this.#close()
    this.#settle.reject(this.#failure)
  }

  #close(): void {
    this.#options.signal.removeEventListener('abort', this.#onStop)
    void this.#listening?.then(
      (listener) => listener.close(),
      () => undefined,
    )
  }

  /** Says whom it is waiting for. */
  #awaited(): string {
    const absent = this.#without(this.#connected)
    return absent.length > 0
      ? `Waiting for ${trainersText(absent)} to come.`
      : `Waiting for ${trainersText(this.#without(this.#announced))}, still at its configuration.`
  }

  #without(some: { has(rank: number): boolean }): readonly number[] {
    return Array.from({ length: this.#trainers ?? 0 }, (_, rank) => rank).filter((rank) => !some.has(rank))
  }
}

function cannotListen(endpoint: string, error: Error): UserError {
  return setUpError(
    `The server cannot listen at ${endpoint}: ${error.message}.`,
    'Give another --port to every process of the job, or end what listens there.',
    error,
  )
}

function failedBefore(who: string, error: Error): Error {
  const withoutStack = error.message.replaceAll(/\n\s+at .*/g, '')
  return setUpError(
    `${who} ended before the job had begun: ${withoutStack}`,
    'Its own output and log have more; start the job again when it is mended.',
    error,
  )
}

function otherNumber(who: string, expected: number, trainers: number): UserError {
  return setUpError(
    `${who} expects ${expected} trainers, this job has ${trainers}.`,
    'Give every process the same --num_gradient_servers.',
  )
}

function tooLate(missing: readonly number[], timeoutMs: number): Error {
  const who = missing.length > 0 ? `${trainersText(missing)} did not come` : 'No trainer came'
  return setUpError(
    `${who} in ${timeoutMs / 1000} s.`,
    'Start every trainer, and check that it reaches this host at --port.',
  )
}
