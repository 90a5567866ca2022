/** @file Which thread reads which chunk: the one with the least to do. */
import type { Chunk, InputKind } from './plan.ts'

export interface Dealer {
  /** To a thread now, or when one has room; in the order in which chunks are added. */
  add(chunk: Chunk): void
  /** The thread that was given it. */
  threadOf(chunk: number): number
  /** Its thread has read it to its end. */
  done(chunk: number): void
}

/** Chunks that a thread is given at a time. Whole files last long and are of any size: the next goes to the thread that is ready first. */
const MOST: Partial<Record<InputKind, number>> = { user: 1, python: 1, pipe: 1 }

export function createDealer(threads: number, input: InputKind, give: (thread: number, chunk: Chunk) => void): Dealer {
  const load = new Array<number>(threads).fill(0)
  const waiting: Chunk[] = []
  const given = new Map<number, number>()
  const most = MOST[input] ?? Number.POSITIVE_INFINITY
  const deal = () => {
    for (let least = Math.min(...load); waiting.length > 0 && least < most; least = Math.min(...load)) {
      const [chunk, thread] = [waiting.shift()!, load.indexOf(least)]
      load[thread]!++
      given.set(chunk.number, thread)
      give(thread, chunk)
    }
  }
  return {
    add: (chunk) => {
      waiting.push(chunk)
      deal()
    },
    threadOf: (chunk) => given.get(chunk)!,
    done: (chunk) => {
      load[given.get(chunk)!]!--
      deal()
    },
  }
}
