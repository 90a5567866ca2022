/** @file When a pass of a stream ends: by time, by count, with its day, or with the stream. Pure. */
import type { Reach } from './source.ts'

export interface PassRule {
  /** Seconds after which a pass with records ends. */
  readonly seconds: number
  /** Records of a pass at most; 0: as many as there are. */
  readonly records: number
  /** What there is is trained at once, and the job ends behind it. */
  readonly stopsAtEnd: boolean
}

export interface PassState {
  readonly waitedSeconds: number
  readonly isDayOver: boolean
  readonly reach: Pick<Reach, 'records' | 'rest'>
}

/** `last`: the pass ends, and its day with it, perhaps without a record; `end`: nothing is left to train. */
export function cutOf(
  { seconds, records: most, stopsAtEnd }: PassRule,
  state: PassState,
): 'wait' | 'cut' | 'last' | 'end' {
  const { waitedSeconds, isDayOver, reach } = state
  if (isDayOver && reach.rest === 0) return 'last'
  if (reach.records === 0) return stopsAtEnd && reach.rest === 0 ? 'end' : 'wait'
  const isFull = most > 0 && reach.records >= most
  return isFull || stopsAtEnd || isDayOver || waitedSeconds >= seconds ? 'cut' : 'wait'
}
