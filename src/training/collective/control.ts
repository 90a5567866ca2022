/** @file One call in shared memory: how a thread hands it over to the communication thread. */
import type { CallHead } from './backend.ts'
import { PAIRWISE, TYPES, type TypeName } from './numbers.ts'

export const CALLS = ['allReduce', 'broadcast', 'reduceScatter', 'allGather', 'allToAll', 'barrier'] as const
export type CallName = (typeof CALLS)[number]
/** For messages. */
export const CALL_TEXT: Readonly<Record<CallName, string>> = {
  allReduce: 'all-reduce',
  broadcast: 'broadcast',
  reduceScatter: 'reduce-scatter',
  allGather: 'all-gather',
  allToAll: 'all-to-all',
  barrier: 'barrier',
}

/** Words of the bell: how often it was rung, and whether the group is to be left though a call is under way. */
export const [RUNG, STOPPING] = [0, 1] as const

/** Idle and done are the asking thread's turn, asked the communication thread's. */
export const STATE = { idle: 0, asked: 1, done: 2, failed: 3, left: 4 } as const

/** Numbers in a registered shared memory. */
export interface Span {
  readonly memory: number
  readonly offset: number
  readonly length: number
}

export interface Call extends CallHead {
  readonly type: TypeName
  readonly values: Span
  readonly target: Span
}

const WORDS = 16 // int32: state, call, type, reduction, root, two memories
const SPANS = WORDS / 2 // float64 from there: offset and length of both spans, then both lists of counts

export function newControl(size: number): SharedArrayBuffer {
  return new SharedArrayBuffer(8 * (SPANS + 4 + 2 * size))
}

export function wordsOf(control: SharedArrayBuffer): Int32Array<SharedArrayBuffer> {
  return new Int32Array(control, 0, WORDS)
}

export function writeCall(control: SharedArrayBuffer, call: Call, size: number): void {
  const [words, wide] = [wordsOf(control), new Float64Array(control)]
  const { name, type, reduction, root, values, target, counts, targetCounts } = call
  words.set(
    [CALLS.indexOf(name), TYPES.indexOf(type), PAIRWISE.indexOf(reduction), root, values.memory, target.memory],
    1,
  )
  wide.set([values.offset, values.length, target.offset, target.length, ...counts], SPANS)
  wide.set(targetCounts, SPANS + 4 + size)
}

export function readCall(control: SharedArrayBuffer, size: number): Call {
  const [, name, type, reduction, root, memory, targetMemory] = wordsOf(control) as unknown as number[]
  const wide = new Float64Array(control, 8 * SPANS)
  return {
    name: CALLS[name!]!,
    type: TYPES[type!]!,
    reduction: PAIRWISE[reduction!]!,
    root: root!,
    values: { memory: memory!, offset: wide[0]!, length: wide[1]! },
    counts: [...wide.subarray(4, 4 + size)],
    target: { memory: targetMemory!, offset: wide[2]!, length: wide[3]! },
    targetCounts: [...wide.subarray(4 + size, 4 + 2 * size)],
  }
}
