/** @file The operations in terms of calls: written once, run by a thread that waits or by one that awaits. */
import type { CallName } from './control.ts'
import type { BlockingGroup, Gathered, Numbers, Operations, Reduction } from './group.ts'
import { divide, evenCounts, offsetsOf, type Pairwise, typeOf } from './numbers.ts'
import type { FromThread, Seat } from './seat.ts'

/** A thread's place in the group: hands calls over, or makes them. */
export type Place = Pick<Seat, 'rank' | 'size' | 'room' | 'shared' | 'ask'>

/** Each yield is one call handed over, and goes on when it is through. */
type Steps<T> = Generator<void, T, void>

export function blockingOperations(seat: Place & Pick<Seat, 'wait'>): BlockingGroup {
  const through = <T>(steps: Steps<T>): T => {
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value
      seat.wait()
    }
  }
  const begun = <T>(steps: Steps<T>) => {
    const { done, value } = steps.next()
    return () => {
      if (done) return value
      seat.wait()
      return through(steps)
    }
  }
  const blocking = operations(seat, through) as Operations<'blocking'>
  return { ...blocking, begin: operations(seat, begun) as Operations<'begun'> }
}

/** `through` resolves to the answer to the call under way. One after the other, also when the caller does not wait between two. */
export function promisedOperations(seat: Seat, through: () => Promise<FromThread>): Operations<'promise'> {
  let last: Promise<unknown> = Promise.resolve()
  const run = async <T>(steps: Steps<T>): Promise<T> => {
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value
      seat.settle(await through())
    }
  }
  return operations(seat, (steps) => {
    const result = last.then(() => run(steps))
    last = result.catch(() => undefined)
    return result
  }) as Operations<'promise'>
}

/** The result of `run` is the value or a promise of it, which one type cannot say of all methods at once. */
function operations(seat: Place, run: <T>(steps: Steps<T>) => unknown) {
  return {
    rank: seat.rank,
    size: seat.size,
    allReduce: (values: Numbers, reduction: Reduction) => run(allReduce(seat, values, reduction)),
    broadcast: (values: Numbers, root = 0) => run(broadcast(seat, values, root)),
    reduceScatter: <T extends Numbers>(values: T, reduction: Reduction, counts?: readonly number[]) =>
      run(reduceScatter(seat, values, reduction, counts ?? evenCounts(values.length, seat.size))),
    allGather: <T extends Numbers>(own: T, counts?: readonly number[]) => run(allGather(seat, own, counts)),
    allToAll: <T extends Numbers>(values: T, counts: readonly number[], coming?: readonly number[]) =>
      run(allToAll(seat, values, counts, coming)),
    barrier: () => run(barrier(seat)),
  }
}

function* allReduce(seat: Place, values: Numbers, reduction: Reduction): Steps<void> {
  const shared = seat.shared(values)
  ask(seat, 'allReduce', { reduction: pairwise(reduction) }, shared)
  yield
  if (reduction === 'mean') divide(shared, seat.size)
  if (shared !== values) values.set(shared as never)
}

function* broadcast(seat: Place, values: Numbers, root: number): Steps<void> {
  const shared = seat.shared(values)
  ask(seat, 'broadcast', { root }, shared)
  yield
  if (shared !== values && seat.rank !== root) values.set(shared as never)
}

function* reduceScatter<T extends Numbers>(
  seat: Place,
  values: T,
  reduction: Reduction,
  counts: readonly number[],
): Steps<T> {
  checkCounts(seat, counts, values.length)
  // The call works in place, and what was given stays the caller's: a copy also of shared memory.
  const copy = seat.room<T>(0, typeOf(values), values.length)
  copy.set(values as never)
  ask(seat, 'reduceScatter', { reduction: pairwise(reduction), counts }, copy)
  yield
  const start = offsetsOf(counts)[seat.rank]!
  const own = copy.subarray(start, start + counts[seat.rank]!) as T
  if (reduction === 'mean') divide(own, seat.size)
  return own
}

function* allGather<T extends Numbers>(seat: Place, own: T, given: readonly number[] | undefined): Steps<Gathered<T>> {
  const counts = given ?? (yield* allCounts(seat, own.length))
  if (counts[seat.rank] !== own.length) throw new Error('internal: counts[rank] must be the length of what is given')
  const values = seat.room<T>(1, typeOf(own), sum(counts))
  values.set(own as never, offsetsOf(counts)[seat.rank])
  ask(seat, 'allGather', { counts }, values)
  yield
  return { values, counts }
}

function* allCounts(seat: Place, count: number): Steps<readonly number[]> {
  const counts = seat.room<Float64Array>(1, 'float64', seat.size)
  counts[seat.rank] = count
  ask(seat, 'allGather', { counts: Array<number>(seat.size).fill(1) }, counts)
  yield
  return [...counts]
}

function* allToAll<T extends Numbers>(
  seat: Place,
  values: T,
  counts: readonly number[],
  coming: readonly number[] | undefined,
): Steps<Gathered<T>> {
  checkCounts(seat, counts, values.length)
  const targetCounts = coming ?? (yield* countsFromAll(seat, counts))
  const shared = seat.shared(values)
  const target = seat.room<T>(1, typeOf(values), sum(targetCounts))
  ask(seat, 'allToAll', { counts, targetCounts }, shared, target)
  yield
  return { values: target, counts: targetCounts }
}

function* countsFromAll(seat: Place, counts: readonly number[]): Steps<readonly number[]> {
  const send = seat.room<Float64Array>(0, 'float64', seat.size)
  const receive = seat.room<Float64Array>(1, 'float64', seat.size)
  send.set(counts)
  const ones = Array<number>(seat.size).fill(1)
  ask(seat, 'allToAll', { counts: ones, targetCounts: ones }, send, receive)
  yield
  return [...receive]
}

function* barrier(seat: Place): Steps<void> {
  ask(seat, 'barrier', {}, seat.room(0, 'uint8', 0))
  yield
}

interface Details {
  readonly reduction?: Pairwise
  readonly root?: number
  readonly counts?: readonly number[]
  readonly targetCounts?: readonly number[]
}

function ask(seat: Place, name: CallName, details: Details, values: Numbers, target = values): void {
  seat.ask({ name, reduction: 'sum', root: 0, counts: [], targetCounts: [], ...details }, values, target)
}

function pairwise(reduction: Reduction): Pairwise {
  return reduction === 'max' ? 'max' : 'sum'
}

function checkCounts({ size }: Place, counts: readonly number[], length: number): void {
  if (counts.length !== size || sum(counts) !== length)
    throw new Error(`internal: counts [${counts}] do not divide ${length} numbers among ${size} ranks`)
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
