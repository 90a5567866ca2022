/** @file `npm run schedules` in short: whatever befalls a simulated job, every sample counts once. And that a broken machine is noticed. */
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { Gatherings } from '../../src/training/ps/gatherings.ts'
import { ChunkLedger } from '../../src/training/ps/ledger.ts'
import { SeenSequences } from '../../src/training/ps/seen-sequences.ts'
import { StepParts } from '../../src/training/ps/step-parts.ts'
import { Turns } from '../../src/training/ps/turns.ts'
import { elasticSchedules, runSchedule, schedules } from './check.ts'

afterEach(() => vi.restoreAllMocks())

const RUNS = 600

test('drop, delay, repetition, reordering, partition and crashes change nothing', () => {
  let [restarts, byHand] = [0, 0]
  fc.assert(
    fc.property(schedules, (schedule) => {
      const outcome = runSchedule(schedule)
      restarts += outcome.restarts
      byHand += outcome.byHand
      expect(outcome.problems).toEqual([])
    }),
    { numRuns: RUNS, seed: 1 },
  )
  // It is not that nothing happens.
  expect([restarts > RUNS / 4, byHand > RUNS / 4]).toEqual([true, true])
})

test('workers that leave and join change nothing either', () => {
  let resizes = 0
  fc.assert(
    fc.property(elasticSchedules, (schedule) => {
      const outcome = runSchedule(schedule)
      resizes += outcome.resizes
      expect(outcome.problems).toEqual([])
    }),
    { numRuns: RUNS, seed: 1 },
  )
  expect(resizes).toBeGreaterThan(RUNS / 4)
})

const BROKEN: Readonly<Record<string, () => unknown>> = {
  'a push that arrives twice is applied twice': () => vi.spyOn(SeenSequences.prototype, 'add').mockReturnValue(true),
  'a step does not wait for all': () => vi.spyOn(StepParts.prototype, 'awaited', 'get').mockReturnValue([]),
  'what was taken before a cut is given out again': () => {
    const claim = ChunkLedger.prototype.claim
    vi.spyOn(ChunkLedger.prototype, 'claim').mockImplementation(function (
      this: ChunkLedger,
      rank,
      { taken, ...asked },
    ) {
      return claim.call(this, rank, asked)
    })
  },
  'a join that arrives again behind its leave counts': () => vi.spyOn(Turns.prototype, 'take').mockReturnValue(true),
  'a barrier lets some through before all have come': () => {
    const answer = Gatherings.prototype.answer
    vi.spyOn(Gatherings.prototype, 'answer').mockImplementation(function (this: Gatherings, rank, name) {
      const own = answer.call(this, rank, name)
      return own.kind === 'waiting' && name.startsWith('end of') ? { kind: 'met', brought: [] } : own
    })
  },
}

test.each(Object.entries(BROKEN))('it is noticed when %s', (_, breakIt) => {
  breakIt()
  const problem = fc.property(schedules, (schedule) => {
    try {
      return runSchedule(schedule).problems.length === 0
    } catch {
      return false // a check of the job itself
    }
  })
  expect(fc.check(problem, { numRuns: 1000, seed: 14, endOnFailure: true }).failed).toBe(true)
})
