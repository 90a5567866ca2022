import { describe, expect, test } from 'vitest'
import type { PassResult } from '../threads/index.ts'
import { beginningOf } from '../threads/index.ts'
import { cutSchedule } from './cuts.ts'

const at = (batch: number, seconds: number) => ({ position: { epoch: 0, batch }, meter: { seconds } }) as PassResult

/** Where a job that makes so many batches a second pauses within so many of them, and when it saves. */
function run(pace: number, batches: number, interval: number | string, threads?: number) {
  const schedule = cutSchedule(interval as never, { inStep: true, threads })!
  schedule.begin(beginningOf(0))
  const [pauses, saves]: [number[], number[]] = [[], []]
  for (let batch = 1; batch <= batches; batch++) {
    if (!schedule.pauses(batch)) continue
    pauses.push(batch)
    if (schedule.isDue(at(batch, batch / pace))) saves.push(batch / pace)
  }
  return { pauses, saves }
}

test('no interval, no cuts', () => {
  expect(cutSchedule(undefined, { inStep: true })).toBeUndefined()
  expect(cutSchedule(0, { inStep: true, byDefault: '60s' })).toBeUndefined()
  expect(cutSchedule(undefined, { inStep: true, byDefault: '60s' })).toBeDefined()
})

test('a number of batches is met, or the next that all threads have had as often', () => {
  expect(run(100, 25, 10)).toEqual({ pauses: [10, 20], saves: [0.1, 0.2] })
  expect(run(100, 25, 10, 4).pauses).toEqual([12, 24])
})

describe('processes that step together meet the time by their pace', () => {
  test.each([
    [1, 600],
    [37, 20_000],
    [900, 400_000],
  ])('%d batches a second', (pace, batches) => {
    const { pauses, saves } = run(pace, batches, '60s')
    const gaps = saves.map((second, i) => second - (saves[i - 1] ?? 0))
    expect(saves.length).toBeGreaterThan(4)
    for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(54)
    for (const gap of gaps) expect(gap).toBeLessThanOrEqual(68)
    // Pauses that save nothing end once the pace is known.
    expect(pauses.length - saves.length).toBeLessThan(8)
  })

  test('a job whose steps become ten times as slow comes back to it', () => {
    const schedule = cutSchedule('60s', { inStep: true })!
    schedule.begin(beginningOf(0))
    const saves: number[] = []
    for (let [batch, seconds] = [1, 0]; seconds < 3000; batch++) {
      seconds += seconds < 600 ? 0.01 : 0.1
      if (schedule.pauses(batch) && schedule.isDue(at(batch, seconds))) saves.push(seconds)
    }
    expect(saves.at(-1)! - saves.at(-2)!).toBeLessThan(68)
  })

  test('after a start inside the epoch time counts from there', () => {
    const schedule = cutSchedule('60s', { inStep: true })!
    schedule.begin({ position: { epoch: 0, batch: 5000, chunk: 0, sample: 0 }, before: at(0, 500).meter })
    expect([schedule.pauses(5063), schedule.pauses(5064)]).toEqual([false, true])
    expect(schedule.isDue(at(5064, 506.4))).toBe(false)
  })
})
