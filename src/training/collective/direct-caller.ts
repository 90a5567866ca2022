/** @file Calls that a thread makes itself: nobody is woken for them, nothing is copied twice. */
import { type Backend, type CallHead, type DirectHandle, makeCall } from './backend.ts'
import { STOPPING } from './control.ts'
import type { Numbers } from './group.ts'
import { attachMpi } from './mpi/open-mpi.ts'
import { elementBytes, type TypeName, viewOf } from './numbers.ts'
import type { Caller } from './operations.ts'
import { attachRing } from './ring/open-ring.ts'

const LEAST_BYTES = 64 * 1024

export class DirectCaller implements Caller {
  readonly rank: number
  readonly size: number
  readonly #backend: Backend
  readonly #rooms: ArrayBuffer[] = []

  constructor(handle: DirectHandle, bell: SharedArrayBuffer) {
    const words = new Int32Array(bell)
    this.rank = handle.rank
    this.size = handle.size
    const isStopping = () => Atomics.load(words, STOPPING) === 1
    this.#backend = handle.kind === 'mpi' ? attachMpi(handle) : attachRing(handle, isStopping)
  }

  room<T extends Numbers>(slot: 0 | 1, type: TypeName, length: number): T {
    const bytes = length * elementBytes(type)
    if ((this.#rooms[slot]?.byteLength ?? -1) < bytes)
      this.#rooms[slot] = new ArrayBuffer(Math.max(LEAST_BYTES, 2 ** Math.ceil(Math.log2(bytes + 1))))
    return viewOf(type, this.#rooms[slot]!, 0, length) as T
  }

  shared<T extends Numbers>(values: T): T {
    return values
  }

  /** The call is through when this returns. */
  start(call: CallHead, values: Numbers, target: Numbers): void {
    // Memory and MPI block: there is no promise to wait for.
    void makeCall(this.#backend, call, values, target)
  }

  wait(): void {}
}
