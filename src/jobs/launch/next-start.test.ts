import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FIRST_START, nextStart } from './next-start.ts'

const rules = { maxRestart: 3, resumes: false }
const KILLED = 137

test('killed after a cut it is started again, before one it is over', () => {
  const end = { code: KILLED, aborted: false }
  expect(nextStart(FIRST_START, { ...end, saved: 1 }, rules).verdict).toBe('again')
  expect(nextStart(FIRST_START, { ...end, saved: 0 }, rules).verdict).toBe('over')
})

test('one that goes on from what is saved is started again before its own first cut', () => {
  expect(nextStart(FIRST_START, { code: KILLED, saved: 0, aborted: false }, { ...rules, resumes: true }).verdict).toBe(
    'again',
  )
})

test('one that says that it can begin anew does so when it is killed, not when it ends by itself', () => {
  const anew = { ...rules, beginsAnew: true }
  const end = { saved: 0, aborted: false }
  expect(nextStart(FIRST_START, { ...end, code: KILLED }, anew).verdict).toBe('again')
  expect(nextStart(FIRST_START, { ...end, code: 2, isLost: true }, anew).verdict).toBe('again')
  expect(nextStart(FIRST_START, { ...end, code: 1 }, anew).verdict).toBe('over')
})

test('an end by itself is followed by another start once something is saved, unless a user must mend it', () => {
  const end = { saved: 1, aborted: false }
  expect(nextStart(FIRST_START, { ...end, code: 1 }, rules).verdict).toBe('again')
  expect(nextStart(FIRST_START, { ...end, code: 2 }, rules).verdict).toBe('over')
  expect(nextStart(FIRST_START, { ...end, code: 2, isLost: true }, rules).verdict).toBe('again')
})

test('those that meet processes of the start before do not use starts up', () => {
  const early = { code: 2, isLost: true, isEarly: true, saved: 1, aborted: false }
  const { starts } = nextStart(FIRST_START, { ...early, isEarly: false }, rules)
  expect(nextStart(starts, early, rules).starts.failed).toBe(1)
})

test('what a user can mend, what cannot be started, being done and being stopped end the job', () => {
  for (const code of [0, 2, 127, undefined])
    expect(nextStart(FIRST_START, { code, saved: 5, aborted: false }, rules).verdict).toBe('over')
  expect(nextStart(FIRST_START, { code: KILLED, saved: 5, aborted: true }, rules).verdict).toBe('over')
})

test('starts are used up by ends without a new cut, and by those alone', () => {
  fc.assert(
    fc.property(fc.nat(5), fc.array(fc.nat(2)), (maxRestart, cutsOfStarts) => {
      let [starts, saved, without] = [FIRST_START, 1, 0]
      for (const cuts of cutsOfStarts) {
        without = cuts > 0 || starts === FIRST_START ? 1 : without + 1
        saved += cuts
        const next = nextStart(starts, { code: KILLED, saved, aborted: false }, { maxRestart, resumes: false })
        expect(next.verdict).toBe(without > maxRestart ? 'used up' : 'again')
        if (next.verdict === 'used up') return
        starts = next.starts
      }
    }),
  )
})
