/** @file Entry of the pulse thread: says every moment that this process lives and whether its main thread runs, and notes the same of others. */
import { writeSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { threadSettings } from '../util/index.ts'
import { connectLocally, newLocalPath, reach } from './connect.ts'
import { clientHandshake, type Identity, type PeerIdentity, type Refusal, serverHandshake } from './handshake.ts'
import { BEATS, LONGEST_MS, MAIN_BEATS, type PulsePlace, STUCK_MS, wordsAt } from './pulse.ts'
import { socketTransport, splitEndpoint } from './socket.ts'
import { Strangers } from './strangers.ts'
import type { Connection } from './transport.ts'

export interface PulseSettings {
  readonly memory: SharedArrayBuffer
  readonly identity: Identity
  readonly others: number
  readonly host: string | undefined
  readonly everyMs: number
}

/** A process whose pulse is to be heard. */
export interface PulseTarget extends PulsePlace {
  /** Its number among the others. */
  readonly other: number
  readonly who: string
  /** What follows where it cannot be heard. @default that a busy process looks as if it were gone */
  readonly unheard?: string | undefined
}

export type ToPulse = { readonly kind: 'hear'; readonly target: PulseTarget }
export type FromPulse =
  | { readonly kind: 'open'; readonly place: PulsePlace | undefined }
  | { readonly kind: 'warning'; readonly message: string }

/** A sign of life is a head alone, with how long the main thread has not run. */
const NO_BODY = 0
const CONNECT_MS = 10_000
const AGAIN_MS = 1000
/** A main thread that did not run since the last look may be at any small thing. */
const LOOKS = 2
const MAX_MS = 0x7fff_ffff
/** After so long it is said where a main thread is that does not run. */
const STUCK_MS_SAID = 20_000
/** In a thread process.stderr has no fd: it goes through the main thread. */
const STDERR = 2

class PulseThread {
  readonly #port: MessagePort
  readonly #settings: PulseSettings
  readonly #words: Int32Array<SharedArrayBuffer>
  /** Connections that this side opened: it begins, the other side answers. */
  readonly #opened = new Set<Connection>()
  #mainBeats = 0
  /** Looks since the main thread last ran. Time during which this thread did not run either does not count. */
  #looks = 0

  constructor(port: MessagePort, settings: PulseSettings) {
    this.#port = port
    this.#settings = settings
    this.#words = new Int32Array(settings.memory)
  }

  async run(): Promise<void> {
    const { everyMs } = this.#settings
    const place = await this.#listen()
    setInterval(() => this.#beat(), everyMs)
    this.#port.on('message', ({ target }: ToPulse) => void this.#hear(target))
    this.#say({ kind: 'open', place })
  }

  #say(message: FromPulse): void {
    this.#port.postMessage(message)
  }

  #beat(): void {
    const beats = Atomics.load(this.#words, MAIN_BEATS)
    this.#looks = beats === this.#mainBeats ? this.#looks + 1 : 0
    this.#mainBeats = beats
    if (this.#looks * this.#settings.everyMs === STUCK_MS_SAID) this.#sayWhereMainIs().catch(() => undefined)
    for (const connection of this.#opened) this.#send(connection)
  }

  /** On standard error: the main thread, which prints all else, does not run. */
  async #sayWhereMainIs(): Promise<void> {
    const { stackOfMain, stacksText } = await import('../stacks/index.ts')
    const stack = await stackOfMain()
    const text = `The main thread of process ${process.pid} has not run for ${STUCK_MS_SAID / 1000} s. Where it is:\n${stacksText([stack])}\n`
    writeSync(STDERR, text)
  }

  #send(connection: Connection): void {
    const stuckMs = this.#looks < LOOKS ? 0 : Math.min(this.#looks * this.#settings.everyMs, MAX_MS)
    connection.send({ type: 'ping', method: 0, id: stuckMs }, [])
  }

  async #listen(): Promise<PulsePlace | undefined> {
    const { host, identity } = this.#settings
    if (host === undefined) return undefined
    const onWarning = (message: string) => this.#say({ kind: 'warning', message })
    const strangers = new Strangers({ onWarning, hosts: identity.hosts })
    const accept = (connection: Connection) => void strangers.guard(connection, (one) => this.#admit(one))
    const path = newLocalPath()
    const [listener] = await Promise.all([
      socketTransport.listen(`${host}:0`, accept, { tls: identity.tls, door: strangers }),
      path ? socketTransport.listen(path, accept) : undefined,
    ])
    return { endpoint: listener.endpoint, path }
  }

  async #admit(connection: Connection): Promise<void> {
    const { identity, others } = this.#settings
    const object = ({ role, rank }: PeerIdentity): Refusal | undefined =>
      role === 'worker' && rank < others
        ? undefined
        : { refusal: 'its pulse is of no interest here', hint: 'start every worker with the same number of workers' }
    const { rank } = await serverHandshake(connection, identity, object)
    void this.#note(connection, rank, () => this.#send(connection))
  }

  /** Connects, and again whenever the connection ends: while there is none, the other's main thread is all that is heard of it. */
  async #hear(target: PulseTarget): Promise<never> {
    for (let isTold = false; ; ) {
      try {
        const connection = await this.#connect(target)
        isTold = false
        const ended = this.#note(connection, target.other)
        this.#opened.add(connection)
        this.#send(connection)
        await ended
        this.#opened.delete(connection)
      } catch (error) {
        if (!isTold) this.#say({ kind: 'warning', message: unheard(target, error as Error) })
        isTold = true
      }
      await sleep(AGAIN_MS)
    }
  }

  async #connect({ endpoint, path, who }: PulseTarget): Promise<Connection> {
    const { identity } = this.#settings
    const local = path ? await connectLocally(socketTransport, path, who, identity) : undefined
    if (local) return local
    const greet = (connection: Connection) => clientHandshake(connection, who, identity)
    const { tls } = identity
    return (await reach({ transport: socketTransport, endpoint, who, timeoutMs: CONNECT_MS, tls, greet })).connection
  }

  /** Notes each sign of life of process `other`; resolves when the connection has ended. */
  #note(connection: Connection, other: number, answer: () => void = () => undefined): Promise<void> {
    const at = wordsAt(other)
    let last: number | undefined
    connection.limit(NO_BODY)
    return new Promise((resolve) => {
      connection.listen({
        frame: ({ type, id }) => {
          if (type !== 'ping') return connection.close()
          const now = performance.now()
          const passed = Math.min(Math.round(now - (last ?? now)), MAX_MS)
          last = now
          if (passed > Atomics.load(this.#words, at + LONGEST_MS)) Atomics.store(this.#words, at + LONGEST_MS, passed)
          Atomics.store(this.#words, at + STUCK_MS, id)
          Atomics.add(this.#words, at + BEATS, 1)
          answer()
        },
        closed: () => resolve(),
      })
    })
  }
}

function unheard({ who, endpoint, unheard: what = LOOKS_GONE }: PulseTarget, error: Error): string {
  const port = splitEndpoint(endpoint).port
  return `The pulse of ${who} is not heard at port ${port} (${error.message}): ${what}.`
}

const LOOKS_GONE =
  'should it be busy for longer than runner.silence_limit, it looks as if it were gone. Open its ports between the hosts, or raise runner.silence_limit'

await new PulseThread(parentPort!, threadSettings<PulseSettings>()).run()
