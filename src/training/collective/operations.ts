/** @file The operations in terms of calls: written once, run by a thread that waits or by one that awaits. */
import type { CallHead } from './backend.ts'
import type { CallAnswer, CommThreadCaller } from './comm-thread-caller.ts'
import type { CallName } from './control.ts'
import {
  type BlockingGroup,
  type Gathered,
  type Numbers,
  type Operations,
  type Reduction,
  readCounts,
} from './group.ts'
import { divide, evenCounts, offsetsOf, type Pairwise, type TypeName, typeOf } from './numbers.ts'

/** What makes the calls of a thread: by itself, or by asking the communication thread. */
export interface Caller {
  readonly rank: number
  readonly size: number
  /** Room for `length` numbers: 0 is sent from, 1 received into; what was there before is gone. */
  room<T extends Numbers>(slot: 0 | 1, type: TypeName, length: number): T
  /** The numbers themselves where calls can work on them, a copy of them otherwise. */
  shared<T extends Numbers>(values: T): T
  /** Begins a call; `target` is where an all-to-all puts what comes. */
  start(call: CallHead, values: Numbers, target: Numbers): void
  /** Blocks until it is through; throws what went wrong. */
  wait(): void
}

/** Each yield is one call that was started, and goes on when it is through. */
type Steps<T> = Generator<void, T, void>

export function blockingOperations(caller: Caller): BlockingGroup {
  const through = <T>(steps: Steps<T>): T => {
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value
      caller.wait()
    }
  }
  const begun = <T>(steps: Steps<T>) => {
    const { done, value } = steps.next()
    return () => {
      if (done) return value
      caller.wait()
      return through(steps)
    }
  }
  const blocking = operations(caller, through) as Operations<'blocking'>
  return { ...blocking, begin: operations(caller, begun) as Operations<'begun'> }
}

/** `through` resolves to the answer to the call under way. One after the other, also when the caller does not wait between two. */
export function promisedOperations(
  caller: CommThreadCaller,
  through: () => Promise<CallAnswer>,
): Operations<'promise'> {
  let last: Promise<unknown> = Promise.resolve()
  const run = async <T>(steps: Steps<T>): Promise<T> => {
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value
      caller.settle(await through())
    }
  }
  return operations(caller, (steps) => {
    const result = last.then(() => run(steps))
    last = result.catch(() => undefined)
    return result
  }) as Operations<'promise'>
}

/** The result of `run` is the value or a promise of it, which one type cannot say of all methods at once. */
function operations(caller: Caller, run: <T>(steps: Steps<T>) => unknown) {
  return {
    rank: caller.rank,
    size: caller.size,
    allReduce: (values: Numbers, reduction: Reduction) => run(allReduce(caller, values, reduction)),
    broadcast: (values: Numbers, root = 0) => run(broadcast(caller, values, root)),
    reduceScatter: <T extends Numbers>(values: T, reduction: Reduction, counts?: readonly number[]) =>
      run(reduceScatter(caller, values, reduction, counts ?? evenCounts(values.length, caller.size))),
    allGather: <T extends Numbers>(own: T, counts?: readonly number[]) => run(allGather(caller, own, counts)),
    allToAll: <T extends Numbers>(values: T, counts: readonly number[], coming?: readonly number[]) =>
      run(allToAll(caller, values, counts, coming)),
    barrier: () => run(barrier(caller)),
  }
}

function* allReduce(caller: Caller, values: Numbers, reduction: Reduction): Steps<void> {
  const shared = caller.shared(values)
  begin(caller, 'allReduce', { reduction: pairwise(reduction) }, shared)
  yield
  if (reduction === 'mean') divide(shared, caller.size)
  if (shared !== values) values.set(shared as never)
}

function* broadcast(caller: Caller, values: Numbers, root: number): Steps<void> {
  const shared = caller.shared(values)
  begin(caller, 'broadcast', { root }, shared)
  yield
  if (shared !== values && caller.rank !== root) values.set(shared as never)
}

function* reduceScatter<T extends Numbers>(
  caller: Caller,
  values: T,
  reduction: Reduction,
  counts: readonly number[],
): Steps<T> {
  checkCounts(caller, counts, values.length)
  // The call works in place, and what was given stays the caller's: a copy also of shared memory.
  const copy = caller.room<T>(0, typeOf(values), values.length)
  copy.set(values as never)
  begin(caller, 'reduceScatter', { reduction: pairwise(reduction), counts }, copy)
  yield
  const start = offsetsOf(counts)[caller.rank]!
  const own = copy.subarray(start, start + counts[caller.rank]!) as T
  if (reduction === 'mean') divide(own, caller.size)
  return own
}

function* allGather<T extends Numbers>(
  caller: Caller,
  own: T,
  given: readonly number[] | undefined,
): Steps<Gathered<T>> {
  const counts = given ?? (yield* allCounts(caller, own.length))
  if (counts[caller.rank] !== own.length) throw new Error('internal: counts[rank] must be the length of what is given')
  const values = caller.room<T>(1, typeOf(own), sum(counts))
  values.set(own as never, offsetsOf(counts)[caller.rank])
  begin(caller, 'allGather', { counts }, values)
  yield
  return { values, counts }
}

function* allCounts(caller: Caller, count: number): Steps<readonly number[]> {
  const counts = caller.room<Float64Array>(1, 'float64', caller.size)
  counts[caller.rank] = count
  begin(caller, 'allGather', { counts: Array<number>(caller.size).fill(1) }, counts)
  yield
  return readCounts(counts, 'how much it gathers')
}

function* allToAll<T extends Numbers>(
  caller: Caller,
  values: T,
  counts: readonly number[],
  coming: readonly number[] | undefined,
): Steps<Gathered<T>> {
  checkCounts(caller, counts, values.length)
  const targetCounts = coming ?? (yield* countsFromAll(caller, counts))
  const shared = caller.shared(values)
  const target = caller.room<T>(1, typeOf(values), sum(targetCounts))
  begin(caller, 'allToAll', { counts, targetCounts }, shared, target)
  yield
  return { values: target, counts: targetCounts }
}

function* countsFromAll(caller: Caller, counts: readonly number[]): Steps<readonly number[]> {
  const send = caller.room<Float64Array>(0, 'float64', caller.size)
  const receive = caller.room<Float64Array>(1, 'float64', caller.size)
  send.set(counts)
  const ones = Array<number>(caller.size).fill(1)
  begin(caller, 'allToAll', { counts: ones, targetCounts: ones }, send, receive)
  yield
  return readCounts(receive, 'how much it sends')
}

function* barrier(caller: Caller): Steps<void> {
  begin(caller, 'barrier', {}, caller.room(0, 'uint8', 0))
  yield
}

interface Details {
  readonly reduction?: Pairwise
  readonly root?: number
  readonly counts?: readonly number[]
  readonly targetCounts?: readonly number[]
}

function begin(caller: Caller, name: CallName, details: Details, values: Numbers, target = values): void {
  caller.start({ name, reduction: 'sum', root: 0, counts: [], targetCounts: [], ...details }, values, target)
}

function pairwise(reduction: Reduction): Pairwise {
  return reduction === 'max' ? 'max' : 'sum'
}

function checkCounts({ size }: Caller, counts: readonly number[], length: number): void {
  if (counts.length !== size || sum(counts) !== length)
    throw new Error(`internal: counts [${counts}] do not divide ${length} numbers among ${size} ranks`)
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
