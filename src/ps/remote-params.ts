/** @file Params whose weights live on servers: a share is cut by server, travels, and comes back together. */
import type { Params, ParamsShare, Values } from '../params/index.ts'
import type { Slice } from './placement.ts'
import { decodePushAnswer, encodeSkip, METHODS, SharePart } from './protocol.ts'

/** Sends a request to a server and resolves to its answer; the body is given away. */
export type Call = (
  server: number,
  method: number,
  body: Uint8Array<ArrayBuffer>,
  what: string,
) => Promise<Uint8Array<ArrayBuffer>>

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
  readonly ahead?: boolean
  /** Pushes under way before a step waits: bounds staleness and memory. @default 2 */
  readonly pushesAhead?: number
}

export class RemoteParams<V extends Values = Float32Array> implements Params<V> {
  readonly #options: RemoteParamsOptions
  #sequence = 0
  readonly #underWay: Promise<number>[] = []
  /** Dense weights after the last push, and when they are here. */
  #weights: V | undefined
  #weightsCame: Promise<unknown> | undefined
  /** The first pull brings the dense weights, the pushes after it bring them up to date. */
  #begun = false

  constructor(options: RemoteParamsOptions) {
    this.#options = options
  }

  /** Asks at once; resolves when rows and weights are in place. */
  pull(share: ParamsShare<V>, insert: boolean): Promise<void> {
    const { call, thread, segments, slices, ahead = false } = this.#options
    const dense = !(ahead && insert && this.#begun)
    this.#begun ||= insert
    const asked = slices.map(async (slice, server) => {
      const part = new SharePart(share, server, segments)
      const body = part.encodePull(thread, insert, dense, this.#sequence)
      const answer = await call(server, METHODS.pull, body, `pull(${count(part)})`)
      part.decodePull(answer, share, dense ? slice : undefined)
    })
    return Promise.all(asked).then(() => undefined)
  }

  /** Dense weights as they were after this thread's last push. */
  refresh(share: ParamsShare<V>): void | Promise<void> {
    if (!this.#weightsCame) return undefined
    return this.#weightsCame.then(() => share.weights.set(this.#weights!))
  }

  /** Sends at once; returns when few enough are under way, which may be before this one is applied. */
  push(share: ParamsShare<V>): Promise<number> {
    const { thread, segments, slices, ahead: wantsDense = false } = this.#options
    const sequence = ++this.#sequence
    this.#weights ??= share.weights.slice() as V
    const sent = this.#send(sequence, (server) => {
      const part = new SharePart(share, server, segments)
      return part.encodePush(share, slices[server]!, { thread, sequence, wantsDense })
    })
    if (wantsDense) this.#weightsCame = sent
    return this.#fewUnderWay(sent)
  }

  /** Takes part in a step without samples: others wait for every thread. */
  async skip(): Promise<void> {
    const sequence = ++this.#sequence
    await this.#fewUnderWay(this.#send(sequence, () => encodeSkip(this.#options.thread, sequence)))
  }

  #send(sequence: number, body: (server: number) => Uint8Array<ArrayBuffer>): Promise<number> {
    const { call, slices } = this.#options
    const sent = slices.map(async (slice, server) => {
      const answer = await call(server, METHODS.push, body(server), `push number ${sequence}`)
      return decodePushAnswer(answer, this.#weights ?? new Float32Array(0), slice)
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

  async close(): Promise<void> {
    await this.flush()
  }
}

function count({ groups }: SharePart): string {
  return `${groups.reduce((sum, { signs }) => sum + signs.length, 0)} signs`
}
