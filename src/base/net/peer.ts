/** @file A process at the other end of a connection: requests with deadlines, heartbeats, and how its end is noticed and reported. */
import { performance } from 'node:perf_hooks'
import { fromPlainError, type PlainError, printable, toPlainError, type Where } from '../util/index.ts'
import { noAnswer, peerLost } from './errors.ts'
import { Liveness, type LivenessOptions } from './liveness.ts'
import { BadMessage, checkMessage, fields, optional, readJson, text, whole } from './message.ts'
import { type Connection, type Frame, MEGABYTE } from './transport.ts'

export type Parts = readonly Uint8Array[]

/** Keeps a body beyond the answer; what it returns is called when the body is done with. */
export type Keep = () => () => void

export interface PeerOptions extends LivenessOptions {
  /** Names the other side in errors: `server[1] 10.0.0.4:7001`. */
  readonly who: string
  /**
   * Answers a request; what it throws travels back and is thrown there. The body is the handler's until the answer is given,
   * unless it says that it keeps it; an answer given at once may lie in memory that the next one is made in.
   */
  readonly handle?: ((method: number, body: Uint8Array<ArrayBuffer>, keep: Keep) => Parts | Promise<Parts>) | undefined
  /** Called once when the other side is gone, with the reason; not after a good-bye. */
  readonly onLost?: ((error: Error) => void) | undefined
  /** Called when the other side has said good-bye. */
  readonly onBye?: (() => void) | undefined
  /** The connection keeps the process alive only while a request is under way. @default false: always */
  readonly idle?: boolean | undefined
  /** Called once for each request that a live peer has not answered for long. */
  readonly onSlow?: ((what: string, seconds: number) => void) | undefined
  /** Sends a request again when so long nothing came: for networks that lose frames. @default never */
  readonly retryMs?: number | undefined
}

export interface RequestOptions {
  readonly timeoutMs: number
  /** What is asked, for the error: `pull(embedding, 4096 signs)`. */
  readonly what: string
}

interface Pending extends RequestOptions {
  readonly method: number
  readonly parts: Parts
  readonly since: number
  sentAt: number
  isSlow?: boolean
  readonly receive: (frame: Frame) => void
  readonly reject: (error: Error) => void
}

const PING_EVERY_MS = 1000
const TICK_MS = 250
/** Longer than any answer takes, but for those that wait for somebody else. */
const SLOW_MS = 5000
const QUEUE_HIGH_BYTES = 64 * MEGABYTE
const QUEUE_LOW_BYTES = 8 * MEGABYTE

export class Peer {
  readonly who: string
  readonly #connection: Connection
  readonly #options: PeerOptions
  readonly #pending = new Map<number, Pending>()
  readonly #ticks: NodeJS.Timeout
  readonly #liveness: Liveness
  #nextId = 1
  #sentAt = performance.now()
  #state: 'open' | 'left' | 'lost' = 'open'
  #paused = false

  constructor(connection: Connection, options: PeerOptions) {
    this.who = options.who
    this.#connection = connection
    this.#options = options
    this.#liveness = new Liveness(options)
    this.#ticks = setInterval(() => this.#tick(), Math.min(TICK_MS, options.retryMs ?? TICK_MS))
    connection.listen({
      frame: (frame) => this.#receive(frame),
      closed: (error) => this.#closed(error),
    })
    this.#hold()
  }

  /** Sends a request; resolves to the answer's body, which is the caller's. `parts` must stay as they are until then. */
  request(method: number, parts: Parts, options: RequestOptions): Promise<Uint8Array<ArrayBuffer>> {
    return this.#ask(method, parts, options, ({ body, release }) => {
      const own = release ? body.slice() : body
      release?.()
      return own
    })
  }

  /** Sends a request; resolves to what `read` makes of the answer, which is gone when it returns. */
  ask<T>(
    method: number,
    parts: Parts,
    options: RequestOptions,
    read: (body: Uint8Array<ArrayBuffer>) => T,
  ): Promise<T> {
    return this.#ask(method, parts, options, ({ body, release }) => {
      try {
        return read(body)
      } finally {
        release?.()
      }
    })
  }

  #ask<T>(method: number, parts: Parts, options: RequestOptions, read: (frame: Frame) => T): Promise<T> {
    if (this.#state !== 'open')
      return Promise.reject(peerLost(this.who, `${options.what} was asked for after the connection had ended`))
    return new Promise((resolve, reject) => {
      const now = performance.now()
      const id = this.#nextId++
      const receive = (frame: Frame) => {
        try {
          resolve(read(frame))
        } catch (error) {
          reject(error as Error)
        }
      }
      this.#pending.set(id, { ...options, method, parts, since: now, sentAt: now, receive, reject })
      if (this.#pending.size === 1) this.#hold()
      this.#send('request', method, id, parts)
    })
  }

  /** What was asked for and is not answered yet: `pull(embedding) for 12 s`. */
  get unanswered(): readonly string[] {
    const now = performance.now()
    return [...this.#pending.values()].map(({ what, since }) => `${what} for ${Math.round((now - since) / 1000)} s`)
  }

  /** Good-bye: everything asked for has been answered, so that the end of the connection is no failure. */
  leave(): void {
    if (this.#state !== 'open') return
    this.#send('bye', 0, 0, [])
    this.#end('left')
  }

  /** Sends the other side the reason why the job ends here. */
  abort(reason: Error): void {
    if (this.#state !== 'open') return
    this.#send('abort', 0, 0, [encodeError(reason)])
    this.#end('left', reason)
  }

  /** After either: resolves when the last words are with the system. */
  drained(): Promise<void> {
    return this.#connection.drained()
  }

  #send(type: Frame['type'], method: number, id: number, parts: Parts): void {
    this.#sentAt = performance.now()
    this.#connection.send({ type, method, id }, parts)
    if (!this.#paused && this.#connection.queuedBytes > QUEUE_HIGH_BYTES) {
      // The other side reads slower than it asks: let its requests wait in its own memory.
      this.#paused = true
      this.#connection.pause()
    }
  }

  #receive(frame: Frame): void {
    this.#liveness.received()
    try {
      this.#take(frame)
    } catch (error) {
      if (!(error instanceof BadMessage)) throw error
      this.#cutOff(error)
    }
  }

  #take(frame: Frame): void {
    const pending = frame.type === 'response' ? this.#settle(frame.id) : undefined
    if (frame.type === 'request') this.#answer(frame)
    else if (pending) pending.receive(frame)
    else {
      this.#receiveControl(frame)
      frame.release?.()
    }
  }

  #receiveControl({ type, id, body }: Frame): void {
    if (type === 'failure') this.#settle(id)?.reject(decodeError(body))
    else if (type === 'abort') this.#lose(decodeError(body))
    else if (type === 'hello') throw new BadMessage('a second hello')
    else if (type === 'bye') {
      this.#end('left')
      this.#options.onBye?.()
    }
  }

  #answer({ method, id, body, release = () => undefined }: Frame): void {
    let kept = false
    const keep = () => {
      kept = true
      return release
    }
    const respond = (parts: Parts) => {
      this.#send('response', method, id, parts)
      if (!kept) release()
    }
    const fail = (error: unknown) => {
      if (error instanceof BadMessage) this.#cutOff(error)
      else this.#send('failure', method, id, [encodeError(error)])
      if (!kept) release()
    }
    const { handle } = this.#options
    try {
      checkMessage(handle !== undefined, 'a request to one that answers none')
      const answer = handle(method, body, keep)
      if (answer instanceof Promise) answer.then(respond, fail)
      else respond(this.#connection.copies ? answer : answer.map((part) => Buffer.from(part)))
    } catch (error) {
      fail(error)
    }
  }

  /** The other side hears nothing but the end of the connection. */
  #cutOff({ message }: BadMessage): void {
    this.#lose(peerLost(this.who, `it was cut off, since it said what it may not say (${printable(message)})`))
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (this.#pending.size === 0) this.#hold()
    return pending
  }

  #hold(): void {
    if (!this.#options.idle) return
    const alive = this.#pending.size > 0
    this.#connection.hold?.(alive)
    if (alive) this.#ticks.ref()
    else this.#ticks.unref()
  }

  #tick(): void {
    const now = performance.now()
    if (now - this.#sentAt >= PING_EVERY_MS) this.#send('ping', 0, 0, [])
    if (this.#paused && this.#connection.queuedBytes < QUEUE_LOW_BYTES) {
      this.#paused = false
      this.#connection.resume()
    }
    const end = this.#liveness.look(this.#connection.receivedBytes ?? 0)
    if (end && !this.#paused) {
      this.#lose(end)
      return
    }
    const { retryMs } = this.#options
    for (const [id, pending] of this.#pending) {
      if (now - pending.since > pending.timeoutMs) {
        this.#pending.delete(id)
        pending.reject(noAnswer(this.who, pending.what, pending.timeoutMs))
      } else if (!pending.isSlow && now - pending.since > SLOW_MS) {
        pending.isSlow = true
        this.#options.onSlow?.(pending.what, Math.round((now - pending.since) / 1000))
      } else if (retryMs !== undefined && now - pending.sentAt >= retryMs) {
        pending.sentAt = now
        this.#send('request', pending.method, id, pending.parts)
      }
    }
  }

  #closed(error: Error | undefined): void {
    const why = error ? `the connection broke (${error.message})` : 'it closed the connection without a good-bye'
    this.#lose(peerLost(this.who, why, error))
  }

  #lose(error: Error): void {
    if (this.#state !== 'open') return
    this.#end('lost', error)
    this.#options.onLost?.(error)
  }

  #end(state: 'left' | 'lost', error: Error = peerLost(this.who, 'it has left the job')): void {
    this.#state = state
    clearInterval(this.#ticks)
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
    this.#connection.close()
  }
}

function encodeError(error: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(toPlainError(error)))
}

const words = text(MEGABYTE)
const lineNumber = whole(0, Number.MAX_SAFE_INTEGER)
/** An error that crosses processes. */
export const readPlainError = fields<PlainError>({
  name: text(256),
  message: words,
  stack: optional(words),
  user: optional(
    fields<NonNullable<PlainError['user']>>({
      code: text(64, /^[A-Z][A-Z0-9_]*$/),
      where: optional(fields<Where>({ file: words, line: optional(lineNumber), column: optional(lineNumber) })),
      hint: optional(words),
    }),
  ),
})

function decodeError(body: Uint8Array): Error {
  const plain = readJson(body, 'a reason', readPlainError)
  return fromPlainError({ ...plain, message: printable(plain.message) })
}
