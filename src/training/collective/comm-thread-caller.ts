/** @file Calls of one thread that the communication thread makes: puts numbers where that thread sees them, waits for its answer. */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { fromPlainError, type PlainError } from '../../base/util/index.ts'
import type { CallHead } from './backend.ts'
import { RUNG, STATE, wordsOf, writeCall } from './control.ts'
import type { GroupHandle, Numbers } from './group.ts'
import { elementBytes, type TypeName, typeOf, viewOf } from './numbers.ts'
import type { Caller } from './operations.ts'

/** Over a caller's port to the communication thread: a memory that calls will name by its id, or that a call waits. */
export type CallerMessage = { readonly id: number; readonly memory: SharedArrayBuffer } | 'asked'
/** And back: how the call ended. */
export type CallAnswer = { readonly failure: PlainError } | 'done'

/** Memory of the caller's own, for numbers that are not in shared memory: 0 is sent from, 1 received into. */
type Slot = 0 | 1
const LEAST_BYTES = 64 * 1024

export class CommThreadCaller implements Caller {
  readonly rank: number
  readonly size: number
  readonly #handle: GroupHandle
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #bell: Int32Array<SharedArrayBuffer>
  readonly #ids = new WeakMap<SharedArrayBuffer, number>()
  readonly #slots: [SharedArrayBuffer | undefined, SharedArrayBuffer | undefined] = [undefined, undefined]
  #nextId = 1

  constructor(handle: GroupHandle) {
    this.#handle = handle
    this.rank = handle.rank
    this.size = handle.size
    this.#words = wordsOf(handle.control)
    this.#bell = new Int32Array(handle.bell)
  }

  get port(): MessagePort {
    return this.#handle.port
  }

  /** Room for `length` numbers in the caller's own memory; what was there before is gone. */
  room<T extends Numbers>(slot: Slot, type: TypeName, length: number): T {
    const bytes = length * elementBytes(type)
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
  start(call: CallHead, values: Numbers, target: Numbers): void {
    const state = Atomics.load(this.#words, 0)
    if (state === STATE.left) throw new Error('internal: a call to a group that has been closed')
    if (state !== STATE.idle) throw new Error('internal: a thread makes one call of its group at a time')
    const spans = { values: this.#span(values), target: this.#span(target) }
    writeCall(this.#handle.control, { ...call, ...spans, type: typeOf(values) }, this.size)
    Atomics.store(this.#words, 0, STATE.asked)
    Atomics.add(this.#bell, RUNG, 1)
    Atomics.notify(this.#bell, RUNG)
    if (this.#handle.wakeByMessage) this.port.postMessage('asked' satisfies CallerMessage)
  }

  /** Blocks until the call under way is through; throws what went wrong. */
  wait(): void {
    while (Atomics.load(this.#words, 0) === STATE.asked) Atomics.wait(this.#words, 0, STATE.asked)
    const failed = Atomics.load(this.#words, 0) === STATE.failed
    this.settle(failed ? (receiveMessageOnPort(this.port)?.message as CallAnswer) : 'done')
  }

  /** The end of a call, which a thread that does not wait learns by message. */
  settle(answer: CallAnswer): void {
    if (Atomics.load(this.#words, 0) !== STATE.left) Atomics.store(this.#words, 0, STATE.idle)
    if (answer !== 'done') throw fromPlainError(answer.failure)
  }

  #span({ buffer, byteOffset, length }: Numbers) {
    const memory = buffer as SharedArrayBuffer
    let id = this.#ids.get(memory)
    if (id === undefined) {
      id = this.#nextId++
      this.#ids.set(memory, id)
      this.port.postMessage({ id, memory } satisfies CallerMessage)
    }
    return { memory: id, offset: byteOffset, length }
  }
}
