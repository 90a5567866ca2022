/** @file What carries numbers between processes: one implementation a library or protocol. The communication thread drives it, or any thread where it may. */
import type { CallName } from './control.ts'
import type { GroupKind, Numbers } from './group.ts'
import type { Pairwise } from './numbers.ts'

type Done = void | Promise<void>

/** Calls come one at a time, in the same order on every rank. Everything is in place; parts lie back to back in rank order. */
export interface Backend {
  readonly kind: GroupKind
  readonly rank: number
  readonly size: number
  readonly description: string
  /** Calls block the thread, so it may also sleep without an event loop between them. */
  readonly blocks: boolean
  allReduce(values: Numbers, reduction: Pairwise): Done
  broadcast(values: Numbers, root: number): Done
  /** Leaves part `rank` of the result at its place; the rest of `values` is undefined afterwards. */
  reduceScatter(values: Numbers, counts: readonly number[], reduction: Pairwise): Done
  /** Part `rank` is given; the others are filled. */
  allGather(values: Numbers, counts: readonly number[]): Done
  allToAll(send: Numbers, sendCounts: readonly number[], receive: Numbers, receiveCounts: readonly number[]): Done
  barrier(): Done
  /** Called now and then while nothing is asked for, by threads that sleep: a sign of life. */
  idle?(): void
  /** By which other threads of this process make calls themselves. @default only the thread that opened it calls */
  readonly direct?: DirectHandle | undefined
  /** A reason is sent to the other ranks, which stop. */
  close(reason?: Error): Done
}

/** A group that other threads of this process can call in themselves, one at a time: plain data for them. */
export type DirectHandle = MemoryHandle | MpiHandle

/** A ring in memory that every rank sees and this process has mapped. */
export interface MemoryHandle {
  readonly kind: 'memory'
  readonly address: bigint
  readonly bytes: number
  readonly rank: number
  readonly size: number
  /** Of ranks, for errors. */
  readonly names: readonly string[]
  readonly deadAfterMs: number
  /** How far this rank is in the order of calls. */
  readonly progress: SharedArrayBuffer
}

/** A library that this process has initialised. */
export interface MpiHandle {
  readonly kind: 'mpi'
  readonly path: string
  readonly rank: number
  readonly size: number
}

/** What a call is, beside its numbers. */
export interface CallHead {
  readonly name: CallName
  readonly reduction: Pairwise
  readonly root: number
  readonly counts: readonly number[]
  readonly targetCounts: readonly number[]
}

/** Makes the call. `target` is where an all-to-all puts what comes. */
export function makeCall(backend: Backend, head: CallHead, values: Numbers, target: Numbers): Done {
  const { name, root, reduction, counts, targetCounts } = head
  if (name === 'allReduce') return backend.allReduce(values, reduction)
  if (name === 'broadcast') return backend.broadcast(values, root)
  if (name === 'reduceScatter') return backend.reduceScatter(values, counts, reduction)
  if (name === 'allGather') return backend.allGather(values, counts)
  if (name === 'allToAll') return backend.allToAll(values, counts, target, targetCounts)
  return backend.barrier()
}

export interface BackendHooks {
  /** Gets a line for what takes long. */
  readonly notice: (message: string) => void
  /** Whether this process wants to leave: a call that waits for others ends with an error then. */
  readonly isStopping: () => boolean
}
