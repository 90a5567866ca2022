/** @file When a job pauses inside an epoch to save itself whole: after so many batches, or so much time. */
import { performance } from 'node:perf_hooks'
import type { JobConfig } from '../../base/config/index.ts'
import type { PassResult, PassStart } from '../threads/index.ts'
import type { JobCuts } from './job.ts'

export type CutInterval = JobConfig['runner']['snapshot_interval']

export interface CutSchedule {
  /** An epoch begins, or goes on from inside. */
  begin(from: PassStart): void
  /** Whether the pass pauses before this batch. */
  readonly pauses: (batch: number) => boolean
  /** The pass has paused: whether it is time for a cut. Processes that step together get the same answer. */
  isDue(trained: PassResult): boolean
}

/** By runner.snapshot_interval. Undefined: there are no cuts. */
export function cutSchedule(
  set: CutInterval,
  { inStep, threads = 1, byDefault }: Pick<JobCuts, 'inStep' | 'threads' | 'byDefault'>,
): CutSchedule | undefined {
  const interval = set ?? byDefault
  if (!interval) return undefined
  if (typeof interval === 'number') return byBatches(inTurns(interval, threads))
  const seconds = Number.parseFloat(interval)
  return inStep ? byPace(seconds, threads) : byClock(seconds)
}

/** The next number of batches after which every thread has had as many. */
const inTurns = (batches: number, threads: number) => threads * Math.ceil(batches / threads)

const byBatches = (count: number): CutSchedule => ({
  begin: () => undefined,
  pauses: (batch) => batch % count === 0,
  isDue: () => true,
})

function byClock(seconds: number): CutSchedule {
  let begun = 0
  const begin = () => {
    begun = performance.now()
  }
  const isDue = () => {
    begin()
    return true
  }
  return { begin, pauses: () => performance.now() - begun >= 1000 * seconds, isDue }
}

const FIRST_BATCHES = 64
const MOST_GROWTH = 4
/** Of the interval: what is missing to it is not worth another pause. */
const ENOUGH = 0.9

/** Clocks of several processes differ, so they agree on batches: as many as the time takes by the pace of the part before. */
function byPace(seconds: number, threads: number): CutSchedule {
  let until = 0
  let part = { batch: 0, seconds: 0 }
  let savedAt = 0
  return {
    begin: ({ position, before, meter }) => {
      part = { batch: position.batch, seconds: (before ?? meter)?.seconds ?? 0 }
      until = position.batch + inTurns(FIRST_BATCHES, threads)
      savedAt = part.seconds
    },
    pauses: (batch) => batch >= until,
    isDue: ({ position, meter }) => {
      const batches = Math.max(1, position.batch - part.batch)
      const pace = batches / Math.max(meter.seconds - part.seconds, 1e-6)
      part = { batch: position.batch, seconds: meter.seconds }
      const due = meter.seconds - savedAt >= ENOUGH * seconds
      if (due) savedAt = meter.seconds
      const wanted = Math.round(pace * (seconds - (meter.seconds - savedAt)))
      until = position.batch + inTurns(Math.min(Math.max(wanted, 1), MOST_GROWTH * batches), threads)
      return due
    },
  }
}
