/** @file A thread's place in the group: puts numbers where the communication thread sees them, and waits for its answer. */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { fromPlainError, type PlainError } from '../util/index.ts'
import { type Call, STATE, wordsOf, writeCall } from './control.ts'
import type { Numbers, SeatHandle } from './group.ts'
import { ELEMENT_BYTES, type TypeName, typeOf, viewOf } from './numbers.ts'

/** What goes over a seat's port: memories to the communication thread, failures and wake-ups back. */
export type ToThread = { readonly id: number; readonly memory: SharedArrayBuffer } | 'asked'
export type FromThread = { readonly failure: PlainError } | 'done'

/** Memory of the seat's own, for numbers that are not in shared memory: 0 is sent from, 1 received into. */
type Slot = 0 | 1
const LEAST_BYTES = 64 * 1024

export class Seat {
  readonly rank: number
  readonly size: number
  readonly #handle: SeatHandle
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #bell: Int32Array<SharedArrayBuffer>
  readonly #ids = new WeakMap<SharedArrayBuffer, number>()
  readonly #slots: [SharedArrayBuffer | undefined, SharedArrayBuffer | undefined] = [undefined, undefined]
  #nextId = 1

  constructor(handle: SeatHandle) {
    this.#handle = handle
    this.rank = handle.rank
    this.size = handle.size
    this.#words = wordsOf(handle.control)
    this.#bell = new Int32Array(handle.bell)
  }

  get port(): MessagePort {
    return this.#handle.port
  }

  /** Room for `length` numbers in the seat's own memory; what was there before is gone. */
  room<T extends Numbers>(slot: Slot, type: TypeName, length: number): T {
    const bytes = length * ELEMENT_BYTES[type]
    let memory = this.#slots[slot]
    if (!memory || memory.byteLength < bytes) {
      memory = new SharedArrayBuffer(Math.max(LEAST_BYTES, 2 ** Math.ceil(Math.log2(bytes + 1))))
      this.#slots[slot] = memory
    }
    return viewOf(type, memory, 0, length) as T
  }

  /** The numbers themselves where they lie in shared memory, a copy of them otherwise. */
  shared<T extends Numbers>(values: T): T {
    if (values.buffer instanceof SharedArrayBuffer) return values
    const copy = this.room<T>(0, typeOf(values), values.length)
    copy.set(values as never)
    return copy
  }

  /** Hands a call over; it is under way when this returns. */
  ask(call: Omit<Call, 'values' | 'target' | 'type'>, values: Numbers, target: Numbers): void {
    const state = Atomics.load(this.#words, 0)
    if (state === STATE.left) throw new Error('internal: a call to a group that has been closed')
    if (state !== STATE.idle) throw new Error('internal: a thread makes one call of its group at a time')
    const spans = { values: this.#span(values), target: this.#span(target) }
    writeCall(this.#handle.control, { ...call, ...spans, type: typeOf(values) }, this.size)
    Atomics.store(this.#words, 0, STATE.asked)
    Atomics.add(this.#bell, 0, 1)
    Atomics.notify(this.#bell, 0)
    if (this.#handle.wakeByMessage) this.port.postMessage('asked' satisfies ToThread)
  }

  /** Blocks until the call under way is through; throws what went wrong. */
  wait(): void {
    while (Atomics.load(this.#words, 0) === STATE.asked) Atomics.wait(this.#words, 0, STATE.asked)
    const failed = Atomics.load(this.#words, 0) === STATE.failed
    this.settle(failed ? (receiveMessageOnPort(this.port)?.message as FromThread) : 'done')
  }

  /** The end of a call, of which a thread that does not wait is told by message. */
  settle(answer: FromThread): void {
    if (Atomics.load(this.#words, 0) !== STATE.left) Atomics.store(this.#words, 0, STATE.idle)
    if (answer !== 'done') throw fromPlainError(answer.failure)
  }

  #span({ buffer, byteOffset, length }: Numbers) {
    const memory = buffer as SharedArrayBuffer
    let id = this.#ids.get(memory)
    if (id === undefined) {
      id = this.#nextId++
      this.#ids.set(memory, id)
      this.port.postMessage({ id, memory } satisfies ToThread)
    }
    return { memory: id, offset: byteOffset, length }
  }
}
