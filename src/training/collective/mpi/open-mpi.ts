/** @file The group of an mpirun: the library's own collective calls, made by any thread of the process, one at a time. */
import { writeSync } from 'node:fs'
import type { Backend, MpiHandle } from '../backend.ts'
import { wrongLibrary } from '../errors.ts'
import type { Numbers } from '../group.ts'
import { offsetsOf, type Pairwise, typeOf } from '../numbers.ts'
import type { MpiPlan } from '../plan.ts'
import { loadMpi, type MpiLibrary } from './library.ts'

const SAY_MS = 300
const SERIALIZED = 2 // MPI_THREAD_SERIALIZED: any thread calls, one at a time. With less only this one does.
const MAX_COUNT = 2 ** 28 // counts are int32; longer arrays go in several calls

export function openMpi({ libraries, size }: MpiPlan): Backend {
  const library = loadMpi(libraries)
  const calls = callsOf(library)
  const { world, errorsReturn } = library.abi
  const number = (call: (out: Int32Array) => void) => {
    const out = new Int32Array(1)
    call(out)
    return out[0]!
  }
  const provided = number((out) => calls.init(null, null, SERIALIZED, out))
  calls.onError(world, errorsReturn)
  const rank = number((out) => calls.rank(world, out))
  const ranks = number((out) => calls.size(world, out))
  // A library that does not know the starter sees itself alone, and every rank would train for itself.
  if (size !== undefined && ranks !== size) throw wrongLibrary(library, size, ranks)
  const handle: MpiHandle = { kind: 'mpi', path: library.path, rank, size: ranks }
  return new MpiGroup(library, handle, provided >= SERIALIZED)
}

/** In another thread of the process that has opened it. */
export function attachMpi(handle: MpiHandle): Backend {
  return new MpiGroup(loadMpi([handle.path]), handle, false)
}

class MpiGroup implements Backend {
  readonly kind = 'mpi'
  readonly blocks = true
  readonly rank: number
  readonly size: number
  readonly description: string
  readonly direct: MpiHandle | undefined
  readonly #library: MpiLibrary
  readonly #calls: ReturnType<typeof callsOf>

  constructor(library: MpiLibrary, handle: MpiHandle, isDirect: boolean) {
    this.#library = library
    this.#calls = callsOf(library)
    this.rank = handle.rank
    this.size = handle.size
    this.direct = isDirect ? handle : undefined
    this.description = `${library.version}, ${this.size} ranks`
  }

  allReduce(values: Numbers, reduction: Pairwise): void {
    const { types, operations, inPlace, world } = this.#library.abi
    for (const part of pieces(values)) {
      const [type, operation] = [types[typeOf(part)], operations[reduction]]
      this.#calls.allReduce(inPlace, part, part.length, type, operation, world)
    }
  }

  broadcast(values: Numbers, root: number): void {
    const { types, world } = this.#library.abi
    for (const part of pieces(values)) this.#calls.broadcast(part, part.length, types[typeOf(part)], root, world)
  }

  reduceScatter(values: Numbers, counts: readonly number[], reduction: Pairwise): void {
    const { types, operations, inPlace, world } = this.#library.abi
    const [type, operation] = [types[typeOf(values)], operations[reduction]]
    this.#calls.reduceScatter(inPlace, values, ints(counts), type, operation, world)
    // In place, MPI leaves the own part at the beginning.
    values.copyWithin(offsetsOf(counts)[this.rank]!, 0, counts[this.rank]!)
  }

  allGather(values: Numbers, counts: readonly number[]): void {
    const { types, inPlace, world } = this.#library.abi
    const type = types[typeOf(values)]
    this.#calls.allGather(inPlace, 0, type, values, ints(counts), ints(offsetsOf(counts)), type, world)
  }

  allToAll(send: Numbers, sendCounts: readonly number[], receive: Numbers, receiveCounts: readonly number[]): void {
    const { types, world } = this.#library.abi
    const type = types[typeOf(send)]
    const side = (counts: readonly number[]) => [ints(counts), ints(offsetsOf(counts)), type]
    this.#calls.allToAll(send, ...side(sendCounts), receive, ...side(receiveCounts), world)
  }

  barrier(): void {
    this.#calls.barrier(this.#library.abi.world)
  }

  close(reason?: Error): void {
    if (!reason) {
      // Nobody leaves before all are here: a rank that is no longer heard would be taken for gone by one that still works.
      this.barrier()
      this.#calls.finalize()
      return
    }
    // MPI_Abort ends this process too, so the reason is said first.
    writeSync(2, `rank ${this.rank} stopped: ${reason.message}\n`)
    // MPICH's mpirun drops what it has not read when a rank aborts.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SAY_MS)
    this.#calls.abort(this.#library.abi.world, 1)
  }
}

/** Pointers are typed arrays, and `inPlace` is an address that is none: hence two kinds of first arguments. */
function callsOf({ call }: MpiLibrary) {
  const [pointer, handle] = ['void *', 'handle']
  return {
    init: call('Init_thread', [pointer, pointer, 'int', pointer]),
    onError: call('Comm_set_errhandler', [handle, handle]),
    rank: call('Comm_rank', [handle, pointer]),
    size: call('Comm_size', [handle, pointer]),
    allReduce: call('Allreduce', ['intptr_t', pointer, 'int', handle, handle, handle]),
    broadcast: call('Bcast', [pointer, 'int', handle, 'int', handle]),
    reduceScatter: call('Reduce_scatter', ['intptr_t', pointer, pointer, handle, handle, handle]),
    allGather: call('Allgatherv', ['intptr_t', 'int', handle, pointer, pointer, pointer, handle, handle]),
    allToAll: call('Alltoallv', [pointer, pointer, pointer, handle, pointer, pointer, pointer, handle, handle]),
    barrier: call('Barrier', [handle]),
    finalize: call('Finalize', []),
    abort: call('Abort', [handle, 'int']),
  }
}

function* pieces(values: Numbers): Generator<Numbers> {
  for (let at = 0; at < values.length; at += MAX_COUNT) yield values.subarray(at, at + MAX_COUNT)
}

function ints(counts: readonly number[]): Int32Array {
  const largest = counts.reduce((sum, count) => sum + count, 0)
  if (largest > 2 ** 31 - 1) throw new Error(`internal: ${largest} numbers in one call of MPI, whose counts are int32`)
  return Int32Array.from(counts)
}
