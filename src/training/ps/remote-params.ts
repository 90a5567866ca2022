/** @file Params whose weights live on servers: a share is cut by server, travels, and comes back together. */
import type { Parts } from '../../base/net/index.ts'
import type { TraceContext } from '../../base/trace/index.ts'
import type { BatchParams, DenseWindow, LinkCount, Params, Slice, Values } from '../../weights/params/index.ts'
import { decodePushAnswer, encodeSkip, SharePart } from './protocol.ts'
import type { Halved } from './runs.ts'
import { tracedRequest } from './wire-trace.ts'

/**
 * Sends a request to a server and resolves to what `read` makes of the answer, whose body is gone when it returns. `parts` may
 * change as soon as the call has returned.
 */
export type Call = <T>(
  server: number,
  method: number,
  parts: Parts,
  what: string,
  read: (body: Uint8Array<ArrayBuffer>) => T,
) => Promise<T>

export interface RemoteParamsOptions {
  readonly call: Call
  readonly thread: number
  /** Segments of the servers' tables: signs come grouped by server and segment. */
  readonly segments: number
  /** Each server's part of the dense layout. */
  readonly slices: readonly Slice[]
  /**
   * Rows are pulled while the batch before is computed; dense weights, which every batch changes, come back with each
   * push, so that they are never older than the thread's own last step. @default false: both with the pull
   */
  readonly ahead?: boolean | undefined
  /** Memory that every server sees: of gradients and weights that lie there, a push says only that they do. */
  readonly window?: DenseWindow | undefined
  /** How values travel to and from a server. @default as they are */
  readonly halved?: ((server: number) => Halved | undefined) | undefined
  /** What `call` is counted by, a server each. */
  readonly links?: readonly LinkCount[] | undefined
  /** Pushes under way before a step waits: bounds staleness and memory. @default 2 */
  readonly pushesAhead?: number | undefined
}

export class RemoteParams<V extends Values = Float32Array> implements Params<V> {
  readonly window: DenseWindow<V> | undefined
  readonly links: readonly LinkCount[] | undefined
  readonly #options: RemoteParamsOptions
  #sequence = 0
  readonly #underWay: Promise<number>[] = []
  /** Dense weights after the last push, and when they are here. */
  #weights: V | undefined
  #weightsCame: Promise<unknown> | undefined
  /** The first pull brings the dense weights, the pushes after it bring them up to date. */
  #begun = false
  /** Of the next request. */
  #trace: TraceContext | undefined

  constructor(options: RemoteParamsOptions) {
    this.#options = options
    this.window = options.window as DenseWindow<V> | undefined
    this.links = options.links
  }

  traced(context: TraceContext): void {
    this.#trace = context
  }

  #takeTrace(): TraceContext | undefined {
    const trace = this.#trace
    this.#trace = undefined
    return trace
  }

  /** Asks at once; resolves when rows and weights are in place. */
  pull(share: BatchParams<V>, insert: boolean): Promise<void> {
    const { call, thread, segments, slices, halved, ahead = false } = this.#options
    const dense = !(ahead && insert && this.#begun)
    this.#begun ||= insert
    if (!dense && share.tables.length === 0) return Promise.resolve()
    const trace = this.#takeTrace()
    const asked = slices.map((slice, server) => {
      const part = new SharePart(share, server, segments, halved?.(server))
      const pull = part.encodePull(thread, insert, dense, this.#sequence)
      const { method, parts } = tracedRequest('pull', pull, trace)
      return call(server, method, parts, `pull(${count(part)})`, (answer) =>
        part.decodePull(answer, share, dense ? slice : undefined),
      )
    })
    return Promise.all(asked).then(() => undefined)
  }

  /** Dense weights as they were after this thread's last push. */
  refresh(share: BatchParams<V>): void | Promise<void> {
    if (!this.#weightsCame) return undefined
    return this.#weightsCame.then(() => {
      if (!this.#isWindowed(share)) share.weights.set(this.#weights!)
    })
  }

  /** Sends at once; returns when few enough are under way, which may be before this one is applied. A share without samples has rows alone. */
  push(share: BatchParams<V>): Promise<number> {
    const { thread, segments, slices, halved, ahead = false } = this.#options
    const sequence = ++this.#sequence
    // Without samples there are rows alone.
    const wantsDense = ahead && share.samples > 0
    const windowed = wantsDense && this.#isWindowed(share)
    if (share.samples > 0 && !windowed) this.#weights ??= share.weights.slice() as V
    const trace = this.#takeTrace()
    const encode = (server: number) => {
      const part = new SharePart(share, server, segments, halved?.(server))
      return part.encodePush(share, slices[server]!, { thread, sequence, wantsDense, windowed })
    }
    const sent = this.#send(sequence, encode, trace)
    if (wantsDense) this.#weightsCame = sent
    return this.#fewUnderWay(sent)
  }

  #isWindowed({ gradients }: BatchParams<V>): boolean {
    return this.window !== undefined && gradients.buffer === this.window.gradients.buffer
  }

  /** Takes part in a step without samples: others wait for every thread. */
  async skip(): Promise<void> {
    const sequence = ++this.#sequence
    await this.#fewUnderWay(this.#send(sequence, () => encodeSkip(this.#options.thread, sequence)))
  }

  #send(sequence: number, encode: (server: number) => Parts, trace?: TraceContext): Promise<number> {
    const { call, slices, halved } = this.#options
    const sent = slices.map((slice, server) => {
      const { method, parts } = tracedRequest('push', encode(server), trace)
      return call(server, method, parts, `push number ${sequence}`, (answer) =>
        decodePushAnswer(answer, this.#weights ?? new Float32Array(0), slice, halved?.(server)),
      )
    })
    const pushed = Promise.all(sent).then(([step = 0]) => step)
    pushed.catch(() => undefined) // thrown by whoever waits for it
    return pushed
  }

  async #fewUnderWay(pushed: Promise<number>): Promise<number> {
    const { pushesAhead = 2 } = this.#options
    this.#underWay.push(pushed)
    let step = 0
    while (this.#underWay.length > pushesAhead) step = await this.#underWay.shift()!
    return step
  }

  async flush(): Promise<void> {
    while (this.#underWay.length > 0) await this.#underWay.shift()!
    this.#weightsCame = undefined
    this.#begun = false
  }
}

function count({ groups }: SharePart): string {
  return `${groups.reduce((sum, { signs }) => sum + signs.length, 0)} signs`
}
