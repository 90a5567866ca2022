/** @file Params whose weights live on servers: a share is cut by server, travels, and comes back together. */
import type { Params, ParamsShare, Values } from '../params/index.ts'
import type { Slice } from './placement.ts'
import { encodeSkip, METHODS, SharePart } from './protocol.ts'

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
  /** Pushes under way before a step waits: bounds staleness and memory. @default 2 */
  readonly pushesAhead?: number
}

export class RemoteParams<V extends Values = Float32Array> implements Params<V> {
  readonly #options: RemoteParamsOptions
  #sequence = 0
  readonly #underWay: Promise<number>[] = []

  constructor(options: RemoteParamsOptions) {
    this.#options = options
  }

  /** Asks at once; resolves when rows and weights are in place. */
  pull(share: ParamsShare<V>, insert: boolean): Promise<void> {
    const { call, thread, segments, slices } = this.#options
    const asked = slices.map(async (slice, server) => {
      const part = new SharePart(share, server, segments)
      const what = `pull(${count(part)})`
      part.decodePull(
        await call(server, METHODS.pull, part.encodePull(thread, insert, this.#sequence), what),
        share,
        slice,
      )
    })
    return Promise.all(asked).then(() => undefined)
  }

  /** Sends at once; returns when few enough are under way, which may be before this one is applied. */
  push(share: ParamsShare<V>): Promise<number> {
    const { thread, segments, slices } = this.#options
    const sequence = ++this.#sequence
    return this.#send(sequence, (server) => {
      const part = new SharePart(share, server, segments)
      return part.encodePush(share, slices[server]!, thread, sequence)
    })
  }

  /** Takes part in a step without samples: others wait for every thread. */
  async skip(): Promise<void> {
    const sequence = ++this.#sequence
    await this.#send(sequence, () => encodeSkip(this.#options.thread, sequence))
  }

  async #send(sequence: number, body: (server: number) => Uint8Array<ArrayBuffer>): Promise<number> {
    const { call, slices, pushesAhead = 2 } = this.#options
    const sent = slices.map((_, server) => call(server, METHODS.push, body(server), `push number ${sequence}`))
    const pushed = Promise.all(sent).then(([answer]) => new Uint32Array(answer!.buffer, 0, 1)[0]!)
    pushed.catch(() => undefined) // thrown by whoever waits for it
    this.#underWay.push(pushed)
    let step = 0
    while (this.#underWay.length > pushesAhead) step = await this.#underWay.shift()!
    return step
  }

  async flush(): Promise<void> {
    while (this.#underWay.length > 0) await this.#underWay.shift()!
  }

  async close(): Promise<void> {
    await this.flush()
  }
}

function count({ groups }: SharePart): string {
  return `${groups.reduce((sum, { signs }) => sum + signs.length, 0)} signs`
}
