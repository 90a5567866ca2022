/** @file Bodies of frames through memory that both sides share. Heads go over the connection beneath, and so do bodies that find no room. */
import { byteLengthOf } from './frame.ts'
import { type Connection, type ConnectionListener, type Frame, type FrameHead, MAX_FRAME_BYTES } from './transport.ts'

/** Before each body on the connection beneath: where the body lies. u32 words: bytes, or 0 when it follows; offset; number of the block. */
const PLACE_BYTES = 16
/** At the beginning of the memory, for either direction: blocks that the receiver has done with. */
const HEADER_BYTES = 128
/** Below this the way over the socket is as short. */
const SMALL_BODY_BYTES = 1024
const ALIGN = 64

/** Memory for bodies of `bytes` under way in either direction at a time. */
export function sharedBytes(bytes: number): number {
  return HEADER_BYTES + 2 * aligned(bytes)
}

/** `side` is 0 on one end and 1 on the other. */
export class SharedConnection implements Connection {
  readonly remote: string
  readonly copies = true
  readonly #inner: Connection
  readonly #room: Room
  readonly #incoming: Incoming
  #limit = MAX_FRAME_BYTES

  constructor(inner: Connection, memory: ArrayBuffer, side: 0 | 1) {
    const capacity = (memory.byteLength - HEADER_BYTES) / 2
    const area = (which: number) => new Uint8Array(memory, HEADER_BYTES + which * capacity, capacity)
    const done = (which: number) => new Int32Array(memory, which * (HEADER_BYTES / 2), 1)
    this.remote = inner.remote
    this.#inner = inner
    this.#room = new Room(area(side), done(side))
    this.#incoming = new Incoming(area(1 - side), done(1 - side))
  }

  get queuedBytes(): number {
    return this.#inner.queuedBytes
  }

  send(head: FrameHead, parts: readonly Uint8Array[]): void {
    const bytes = byteLengthOf(parts)
    const place = bytes > SMALL_BODY_BYTES ? this.#room.put(parts, bytes) : undefined
    if (place) this.#inner.send(head, [encodePlace(bytes, place.at, place.number)])
    else this.#inner.send(head, [Buffer.concat([encodePlace(0, 0, 0), ...parts])])
  }

  listen(listener: ConnectionListener): void {
    this.#inner.listen({
      frame: (frame) => this.#deliver(frame, listener),
      closed: (error) => listener.closed(error),
    })
  }

  limit(bytes: number): void {
    this.#limit = bytes
    this.#inner.limit(bytes + PLACE_BYTES)
  }

  pause(): void {
    this.#inner.pause()
  }

  resume(): void {
    this.#inner.resume()
  }

  close(): void {
    this.#inner.close()
  }

  drained(): Promise<void> {
    return this.#inner.drained()
  }

  #deliver({ body, ...head }: Frame, listener: ConnectionListener): void {
    const isWhole = body.byteLength >= PLACE_BYTES
    const [bytes = 0, at = 0, number = 0] = new Uint32Array(body.buffer, body.byteOffset, isWhole ? 3 : 0)
    const shared = bytes <= this.#limit ? this.#incoming.body(at, bytes) : undefined
    if (!isWhole) this.close()
    else if (bytes === 0) listener.frame({ ...head, body: body.subarray(PLACE_BYTES) })
    else if (shared) listener.frame({ ...head, body: shared, release: this.#incoming.expect(number) })
    else this.close()
  }
}

interface Block {
  readonly number: number
  readonly at: number
}

/** The sender's part of the memory: blocks one after the other, from the beginning again when there is no room behind. */
class Room {
  readonly #area: Uint8Array<ArrayBuffer>
  /** The number of the last block that is done with; so are those before it. */
  readonly #done: Int32Array
  #underWay: Block[] = []
  #last = 0
  #end = 0

  constructor(area: Uint8Array<ArrayBuffer>, done: Int32Array) {
    this.#area = area
    this.#done = done
  }

  /** Copies a body in; undefined when there is no room. */
  put(parts: readonly Uint8Array[], bytes: number): Block | undefined {
    const at = this.#find(aligned(bytes))
    if (at === undefined) return undefined
    let to = at
    for (const part of parts) {
      this.#area.set(part, to)
      to += part.byteLength
    }
    this.#end = at + aligned(bytes)
    this.#last = (this.#last + 1) | 0
    const block = { number: this.#last, at }
    this.#underWay.push(block)
    return block
  }

  #find(bytes: number): number | undefined {
    const done = Atomics.load(this.#done, 0)
    while (this.#underWay.length > 0 && ((done - this.#underWay[0]!.number) | 0) >= 0) this.#underWay.shift()
    const oldest = this.#underWay[0]
    // What was used last is still in the cache: an empty area is begun anew.
    if (!oldest) return bytes <= this.#area.byteLength ? 0 : undefined
    if (this.#end <= oldest.at) return this.#end + bytes <= oldest.at ? this.#end : undefined
    if (this.#end + bytes <= this.#area.byteLength) return this.#end
    return bytes <= oldest.at ? 0 : undefined
  }
}

/** The receiver's view of the other side's part: blocks may be done with in any order, and are given back to the sender in theirs. */
class Incoming {
  readonly #area: Uint8Array<ArrayBuffer>
  readonly #done: Int32Array
  readonly #held: { readonly number: number; done: boolean }[] = []

  constructor(area: Uint8Array<ArrayBuffer>, done: Int32Array) {
    this.#area = area
    this.#done = done
  }

  body(at: number, bytes: number): Uint8Array<ArrayBuffer> | undefined {
    return at + bytes <= this.#area.byteLength ? this.#area.subarray(at, at + bytes) : undefined
  }

  /** To be called when the block is done with. */
  expect(number: number): () => void {
    const block = { number, done: false }
    this.#held.push(block)
    return () => {
      block.done = true
      while (this.#held[0]?.done) Atomics.store(this.#done, 0, this.#held.shift()!.number | 0)
    }
  }
}

function encodePlace(bytes: number, at: number, number: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(bytes, at, number, 0).buffer)
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGN) * ALIGN
}
