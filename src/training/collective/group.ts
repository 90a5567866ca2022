/** @file A group of processes that compute together: the interface, which does not know what carries the numbers. */
import type { MessagePort } from 'node:worker_threads'
import { type Reader, readBrought, readJson, whole } from '../../base/net/index.ts'
import type { DirectHandle } from './backend.ts'

/** Sums and means add in the order of ranks or of the ring: the same on every rank, and in every run. */
export const REDUCTIONS = ['sum', 'mean', 'max'] as const
export type Reduction = (typeof REDUCTIONS)[number]

export type GroupKind = 'mpi' | 'ring' | 'alone'

/** What travels: float32, float64, int32, int64, uint8. In shared memory it is worked on in place, other memory is copied. */
export type Numbers = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array

/** Values of all ranks, those of rank 0 first. They are the group's memory and hold until the next call. */
export interface Gathered<T extends Numbers> {
  readonly values: T
  /** How many are of each rank. */
  readonly counts: readonly number[]
}

/** How a thread waits for its calls. */
export type Way = 'promise' | 'blocking' | 'begun'

/** What calls return: promises on a thread that must stay awake, the value itself on one that may wait, or a way to it later. */
type Outcome<W extends Way, T> = W extends 'promise' ? Promise<T> : W extends 'begun' ? () => T : T

/** Every rank makes the same calls in the same order, with the same types; counts may differ where the call says so. */
export interface Operations<W extends Way> {
  readonly rank: number
  readonly size: number
  /** In place; the same bits on every rank. A mean of integers drops the fraction. */
  allReduce(values: Numbers, reduction: Reduction): Outcome<W, void>
  /** What `root` has, everywhere; in place. @default root 0 */
  broadcast(values: Numbers, root?: number): Outcome<W, void>
  /** Reduces `values` and leaves part r (of `counts[r]`, default: as even as can be) with rank r: the group's memory. */
  reduceScatter<T extends Numbers>(values: T, reduction: Reduction, counts?: readonly number[]): Outcome<W, T>
  /** Brings together what each rank has; how much that is may differ, and is found out when `counts` does not say it. */
  allGather<T extends Numbers>(own: T, counts?: readonly number[]): Outcome<W, Gathered<T>>
  /** Sends `counts[r]` of `values` to rank r, in order; returns what came. How much that is is found out where `coming` does not say it. */
  allToAll<T extends Numbers>(values: T, counts: readonly number[], coming?: readonly number[]): Outcome<W, Gathered<T>>
  /** Returns when every rank has called it. */
  barrier(): Outcome<W, void>
}

/** The group as a thread sees that may wait, like a trainer thread. */
export interface BlockingGroup extends Operations<'blocking'> {
  /** The same calls, under way while the thread does something else: it calls what they return before its next call. */
  readonly begin: Operations<'begun'>
}

/** The group as the main thread sees it. */
export interface Group extends Operations<'promise'> {
  readonly kind: GroupKind
  /** For people: `ring of 4 over shared memory`, `Open MPI 4.1.4, 4 ranks`. */
  readonly description: string
  /** For another thread, which opens it by `attachGroup`. All threads together still keep one order of calls. */
  handle(): GroupHandle
  /** In good order: every rank closes. A reason is sent to all other ranks, which stop. */
  close(reason?: Error): Promise<void>
}

/** What another thread of this process needs to take part; `port` goes into the transfer list of the message that carries it. */
export interface GroupHandle {
  readonly rank: number
  readonly size: number
  /** The call under way. */
  readonly control: SharedArrayBuffer
  /** Counts calls of all threads; the communication thread sleeps on it. */
  readonly bell: SharedArrayBuffer
  readonly port: MessagePort
  /** The communication thread does not sleep but listens to sockets: it is woken by a message. */
  readonly wakeByMessage: boolean
  /** The thread makes its calls itself. */
  readonly direct?: DirectHandle | undefined
}

/** What each rank gives, in the order of ranks, as `read` describes it. */
export async function allGatherJson<T>(
  group: Pick<Group, 'allGather'>,
  own: T,
  read: Reader<T>,
): Promise<readonly T[]> {
  const { values, counts } = await group.allGather(new TextEncoder().encode(JSON.stringify(own)))
  let at = 0
  return counts.map((count, rank) => {
    at += count
    // A copy: text is not decoded from shared memory.
    const text = Buffer.from(values.slice(at - count, at))
    return readBrought(`rank ${rank}`, () => readJson(text, 'what it brought', read))
  })
}

/** Of one rank in one call: more than any has memory for, and few enough that room for them can be asked for. */
const MOST_NUMBERS = 2 ** 31
const readNumberOf = whole(0, MOST_NUMBERS)

/** How many of something each rank says that it brings, in the order of ranks: looked at before room is made for them. */
export function readCounts(counts: Iterable<number>, what: string): readonly number[] {
  return Array.from(counts, (count, rank) => readBrought(`rank ${rank}`, () => readNumberOf(count, what)))
}
