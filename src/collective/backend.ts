/** @file What the communication thread drives: one implementation a library or protocol. */
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
  /** With a reason the other ranks are told it and stop. */
  close(reason?: Error): Done
}

export interface BackendHooks {
  /** Told what takes long. */
  readonly notice: (message: string) => void
  /** Whether this process wants to leave: a call that waits for others ends with an error then. */
  readonly isStopping: () => boolean
}
