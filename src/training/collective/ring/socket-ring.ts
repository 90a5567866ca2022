/** @file The ring over sockets: parts travel from rank to rank, each adding its own, and then once more around. */

import { checkMessage } from '../../../base/net/index.ts'
import { bytesOf, isUserError } from '../../../base/util/index.ts'
import type { Backend } from '../backend.ts'
import { CALL_TEXT, CALLS, type CallName } from '../control.ts'
import { ordersDiffer, rankLost, rankStopped } from '../errors.ts'
import type { Numbers } from '../group.ts'
import { combine, evenCounts, offsetsOf, type Pairwise, TYPES, typeOf, viewOf } from '../numbers.ts'
import type { RingPlan } from '../plan.ts'
import { type Mesh, nameOf, openMesh } from './mesh.ts'

const HEAD_BYTES = 16 // u32 number of the call · u8 what is called · u8 type · u16 zero · f64 bytes of the part
const PIECE_BYTES = 512 * 1024 // so that a rank adds one piece while the next is on its way

export async function openSocketRing(plan: RingPlan, notice: (message: string) => void): Promise<Backend> {
  const mailbox = new Mailbox(plan)
  const mesh = await openMesh(plan, {
    onMessage: (from, body) => {
      checkPiece(body)
      mailbox.put(from, body)
    },
    onLost: (rank, error) => mailbox.fail(rank, error),
    notice,
  })
  return new SocketRing(plan, mesh, mailbox)
}

/** Numbers of a call that there is; which one it must be now is found out when they are taken. */
function checkPiece(body: Uint8Array<ArrayBuffer>): void {
  checkMessage(body.byteLength > HEAD_BYTES && body.byteLength <= HEAD_BYTES + PIECE_BYTES, 'a piece of that length')
  checkMessage(body[4]! < CALLS.length && body[5]! < TYPES.length, 'a piece of no call')
}

class SocketRing implements Backend {
  readonly kind = 'ring'
  readonly blocks = false
  readonly rank: number
  readonly size: number
  readonly description: string
  readonly #mesh: Mesh
  readonly #mailbox: Mailbox
  #calls = 0
  #name: CallName = 'barrier'

  constructor({ rank, endpoints }: RingPlan, mesh: Mesh, mailbox: Mailbox) {
    this.rank = rank
    this.size = endpoints.length
    this.description = `ring of ${endpoints.length} over sockets`
    this.#mesh = mesh
    this.#mailbox = mailbox
  }

  async allReduce(values: Numbers, reduction: Pairwise): Promise<void> {
    this.#begin('allReduce', values)
    const counts = evenCounts(values.length, this.size)
    await this.#reduceAround(values, counts, reduction)
    await this.#gatherAround(values, counts)
  }

  async reduceScatter(values: Numbers, counts: readonly number[], reduction: Pairwise): Promise<void> {
    this.#begin('reduceScatter', values)
    await this.#reduceAround(values, counts, reduction)
  }

  async allGather(values: Numbers, counts: readonly number[]): Promise<void> {
    this.#begin('allGather', values)
    await this.#gatherAround(values, counts)
  }

  /** Down the line from the root, each rank passing a piece on while the next comes. */
  async broadcast(values: Numbers, root: number): Promise<void> {
    this.#begin('broadcast', values)
    const perPiece = PIECE_BYTES / values.BYTES_PER_ELEMENT
    for (let at = 0; at < values.length; at += perPiece) {
      const piece = values.subarray(at, at + perPiece)
      if (this.rank !== root) await this.#receive(this.#left, piece, copy)
      if (this.#right !== root) this.#send(this.#right, piece)
    }
  }

  async allToAll(
    send: Numbers,
    sendCounts: readonly number[],
    receive: Numbers,
    receiveCounts: readonly number[],
  ): Promise<void> {
    this.#begin('allToAll', send)
    const [from, to] = [partsOf(send, sendCounts), partsOf(receive, receiveCounts)]
    const others = Array.from({ length: this.size - 1 }, (_, i) => i + 1)
    for (const step of others) this.#send((this.rank + step) % this.size, from[(this.rank + step) % this.size]!)
    to[this.rank]!.set(from[this.rank] as never)
    for (const step of others) {
      const other = (this.rank - step + this.size) % this.size
      await this.#receive(other, to[other]!, copy)
    }
  }

  async barrier(): Promise<void> {
    const word = new Uint8Array(this.size)
    this.#begin('barrier', word)
    // All ranks have begun when something of each has come around.
    await this.#gatherAround(word, evenCounts(this.size, this.size))
  }

  async close(reason?: Error): Promise<void> {
    // Whoever leaves first must not look as if it were gone to one that is still in the last call.
    if (!reason && !this.#mailbox.failed) await this.barrier()
    this.#mailbox.leaving = true
    await this.#mesh.close(reason)
  }

  get #right(): number {
    return (this.rank + 1) % this.size
  }

  get #left(): number {
    return (this.rank - 1 + this.size) % this.size
  }

  /** Part r starts at rank r + 1 and ends, complete, at rank r: the order of the sum is the ring's. */
  async #reduceAround(values: Numbers, counts: readonly number[], reduction: Pairwise): Promise<void> {
    const parts = partsOf(values, counts)
    const part = (back: number) => parts[(this.rank - back + 2 * this.size) % this.size]!
    for (let step = 1; step < this.size; step++) {
      this.#send(this.#right, part(step))
      await this.#receive(this.#left, part(step + 1), (into, from) => combine(into, from, reduction))
    }
  }

  async #gatherAround(values: Numbers, counts: readonly number[]): Promise<void> {
    const parts = partsOf(values, counts)
    const part = (back: number) => parts[(this.rank - back + 2 * this.size) % this.size]!
    for (let step = 0; step < this.size - 1; step++) {
      this.#send(this.#right, part(step))
      await this.#receive(this.#left, part(step + 1), copy)
    }
  }

  #begin(name: CallName, values: Numbers): void {
    this.#calls++
    this.#name = name
    this.#mailbox.during = `${CALL_TEXT[name]} of ${values.length} ${typeOf(values)}`
  }

  /** Copies `part`: it may change as soon as this returns. */
  #send(to: number, part: Numbers): void {
    const head = Buffer.alloc(HEAD_BYTES)
    head.writeUInt32LE(this.#calls, 0)
    head.writeUInt8(CALLS.indexOf(this.#name), 4)
    head.writeUInt8(TYPES.indexOf(typeOf(part)), 5)
    head.writeDoubleLE(part.byteLength, 8)
    const bytes = bytesOf(part)
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      this.#mesh.send(to, [head, bytes.slice(at, at + PIECE_BYTES)])
  }

  /** Takes a part piece by piece, which are whole numbers of elements. */
  async #receive(from: number, part: Numbers, take: (into: Numbers, from: Numbers) => void): Promise<void> {
    const type = typeOf(part)
    const perPiece = PIECE_BYTES / part.BYTES_PER_ELEMENT
    for (let at = 0; at < part.length; at += perPiece) {
      const body = await this.#mailbox.take(from)
      this.#check(from, body, part)
      const into = part.subarray(at, at + perPiece)
      checkMessage(body.byteLength === HEAD_BYTES + into.byteLength, `a piece of ${body.byteLength} bytes`)
      take(into, viewOf(type, body.buffer, body.byteOffset + HEAD_BYTES, into.length))
    }
  }

  #check(from: number, body: Uint8Array<ArrayBuffer>, part: Numbers): void {
    const head = Buffer.from(body.buffer, body.byteOffset)
    const [call, name, type, bytes] = [head.readUInt32LE(0), head.readUInt8(4), head.readUInt8(5), head.readDoubleLE(8)]
    const ours = { call: this.#calls, name: CALLS.indexOf(this.#name), type: TYPES.indexOf(typeOf(part)) }
    if (call === ours.call && name === ours.name && type === ours.type && bytes === part.byteLength) return
    const text = (call: number, name: number, type: number, bytes: number) =>
      `call ${call}, ${CALL_TEXT[CALLS[name]!]} (${TYPES[type]}, a part of ${bytes} bytes)`
    throw ordersDiffer(
      this.#mailbox.nameOf(from),
      text(call, name, type, bytes),
      this.#mailbox.nameOf(this.rank),
      text(ours.call, ours.name, ours.type, part.byteLength),
    )
  }
}

/** What came from each rank and was not taken yet. */
class Mailbox {
  during: string | undefined
  /** This rank is about to go, and others may be faster. */
  leaving = false
  readonly #plan: RingPlan
  readonly #boxes: Uint8Array<ArrayBuffer>[][]
  #waiting:
    | { readonly from: number; resolve(body: Uint8Array<ArrayBuffer>): void; reject(error: Error): void }
    | undefined
  #failure: Error | undefined

  constructor(plan: RingPlan) {
    this.#plan = plan
    this.#boxes = plan.endpoints.map(() => [])
  }

  get failed(): boolean {
    return this.#failure !== undefined
  }

  nameOf(rank: number): string {
    return nameOf(this.#plan, rank)
  }

  put(from: number, body: Uint8Array<ArrayBuffer>): void {
    const waiting = this.#waiting
    if (waiting?.from !== from) {
      this.#boxes[from]!.push(body)
      return
    }
    this.#waiting = undefined
    waiting.resolve(body)
  }

  fail(rank: number, error: Error): void {
    if (this.leaving || this.#failure) return
    this.#failure = explain(this.nameOf(rank), error, this.during)
    this.#waiting?.reject(this.#failure)
  }

  /** The next message of a rank. Every wait ends: ranks that are gone are noticed by their heartbeat. */
  async take(from: number): Promise<Uint8Array<ArrayBuffer>> {
    const body = this.#boxes[from]!.shift()
    if (body) return body
    if (this.#failure) throw this.#failure
    return await new Promise((resolve, reject) => {
      this.#waiting = { from, resolve, reject }
    })
  }
}

function copy(into: Numbers, from: Numbers): void {
  into.set(from as never)
}

function partsOf(values: Numbers, counts: readonly number[]): readonly Numbers[] {
  const offsets = offsetsOf(counts)
  return counts.map((count, rank) => values.subarray(offsets[rank]!, offsets[rank]! + count))
}

/** What the network says of a rank, in the group's words. */
function explain(who: string, error: Error, during: string | undefined): Error {
  if (isUserError(error) && error.code === 'NET_PEER_LOST')
    return rankLost(who, error.message.replace(`${who} is gone: `, ''), during, error)
  return rankStopped(who, error)
}
