import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Liveness } from './liveness.ts'
import type { PulseReading } from './pulse.ts'

const LIMIT_MS = 4000
const LOOK_MS = 250

/** A process that is looked at four times a second, from another, on a clock of the test. `heard`: when a frame came, and when a pulse. */
function deadAt(frames: readonly number[], beats: readonly number[], untilMs: number): number | undefined {
  let now = 0
  const pulse = (): PulseReading => ({ beats: beats.filter((at) => at <= now).length, stuckMs: 0, longestMs: 0 })
  const options = { who: 'worker[1]', deadAfterMs: LIMIT_MS, clock: () => now }
  const liveness = new Liveness(beats.length > 0 ? { ...options, pulse } : options)
  const waiting = [...frames].sort((a, b) => a - b)
  for (let at = LOOK_MS; at <= untilMs; at += LOOK_MS) {
    while (waiting.length > 0 && waiting[0]! <= at) {
      now = waiting.shift()!
      liveness.received()
    }
    now = at
    if (liveness.look(0)) return now
  }
  return undefined
}

const gaps = (most: number) => fc.array(fc.integer({ min: 1, max: most }), { minLength: 1, maxLength: 40 })
const timesOf = (passed: readonly number[]) =>
  passed.map((_, i) => passed.slice(0, i + 1).reduce((sum, gap) => sum + gap, 0))

test('whoever is heard within the limit is never taken for dead, however irregular it is', () => {
  fc.assert(
    fc.property(gaps(LIMIT_MS - LOOK_MS), (passed) => {
      const frames = timesOf(passed)
      expect(deadAt(frames, [], frames.at(-1)!)).toBeUndefined()
    }),
  )
})

test('whoever falls silent is noticed after the limit, and not later than one look after it', () => {
  fc.assert(
    fc.property(gaps(LIMIT_MS - LOOK_MS), (passed) => {
      const frames = timesOf(passed)
      const last = frames.at(-1)!
      const dead = deadAt(frames, [], last + 3 * LIMIT_MS)!
      expect(dead).toBeGreaterThan(last + LIMIT_MS)
      expect(dead).toBeLessThanOrEqual(last + LIMIT_MS + LOOK_MS)
    }),
  )
})

test('a pulse alone keeps one alive whose connection is silent, for as long as the limit', () => {
  const beats = Array.from({ length: 100 }, (_, i) => 500 * (i + 1))
  expect(deadAt([], beats, 3000)).toBeUndefined()
  // Its main thread runs and says nothing: the connection does not carry it.
  expect(deadAt([], beats, 50_000)).toBe(LIMIT_MS + LOOK_MS)
})

test('time in which this process itself did not look does not count against the other', () => {
  let now = 0
  const liveness = new Liveness({ who: 'worker[1]', deadAfterMs: LIMIT_MS, clock: () => now })
  now = 60_000
  expect(liveness.look(0)).toBeUndefined()
  // As if something had come a second before it woke.
  const silentAt = 60_000 - 1000 + LIMIT_MS
  for (now += LOOK_MS; now <= silentAt; now += LOOK_MS) expect(liveness.look(0)).toBeUndefined()
  expect(liveness.look(0)?.message).toMatch(/no sign of life/)
})
