/** @file How many there are from start to start, whatever befalls a job. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstMembership, type MembershipEvent, nextMembership, roomIn } from './membership.ts'

const RULES = { min: 2, max: 4, maxRestart: 2, resumes: false }
const saved = (count: number, code: number | undefined = 143) => ({ code, saved: count, aborted: false })
const left = (members: number, cuts: number): MembershipEvent => ({ kind: 'left', members, end: saved(cuts) })
const killed = (cuts: number, isMember = true): MembershipEvent => ({ kind: 'failed', isMember, end: saved(cuts, 137) })

test('who is asked to stop leaves for good, down to the minimum', () => {
  const three = nextMembership(firstMembership(4), left(1, 1), RULES)
  expect([three.verdict, three.membership.size, three.membership.number]).toEqual(['again', 3, 1])
  const one = nextMembership(nextMembership(three.membership, left(1, 2), RULES).membership, left(1, 3), RULES)
  expect([one.verdict, one.membership.size]).toEqual(['too few', 1])
})

test('of a job of a fixed size it is started again instead', () => {
  const next = nextMembership(firstMembership(2), left(1, 1), { ...RULES, min: 2, max: 2 })
  expect([next.verdict, next.membership.size]).toEqual(['again', 2])
})

test('one that dies again and again without a cut is left out where others can go on', () => {
  let membership = firstMembership(3)
  const sizes: number[] = []
  const verdicts: string[] = []
  for (let i = 0; i < 6; i++) {
    const next = nextMembership(membership, killed(1), RULES)
    membership = next.membership
    sizes.push(membership.size)
    verdicts.push(next.verdict)
  }
  expect(sizes).toEqual([3, 3, 2, 2, 2, 2])
  expect(verdicts).toEqual(['again', 'again', 'again', 'again', 'again', 'used up'])
})

test('a server that dies again and again ends the job', () => {
  let membership = firstMembership(4)
  for (let i = 0; i < 2; i++) membership = nextMembership(membership, killed(1, false), RULES).membership
  expect(nextMembership(membership, killed(1, false), RULES).verdict).toBe('used up')
})

test('nobody joins or leaves a job that is asked to stop', () => {
  const end = { ...saved(1, undefined), aborted: true }
  expect(nextMembership(firstMembership(3), { kind: 'joined', members: 1, end }, RULES).verdict).toBe('over')
})

test('sizes stay within their limits, numbers grow, and only failures use up starts', () => {
  const events = fc.array(
    fc.record({
      kind: fc.constantFrom('left' as const, 'joined' as const, 'failed' as const),
      members: fc.integer({ min: 1, max: 2 }),
      cut: fc.boolean(),
      isMember: fc.boolean(),
    }),
    { maxLength: 30 },
  )
  fc.assert(
    fc.property(events, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 0, max: 3 }), (all, min, more) => {
      const rules = { ...RULES, min, max: min + more }
      let [membership, cuts, failures] = [firstMembership(rules.max), 0, 0]
      for (const { kind, members, cut, isMember } of all) {
        if (cut || kind !== 'failed') cuts++
        const end = saved(cuts, kind === 'failed' ? 137 : 143)
        const before = membership
        const asked = kind === 'joined' ? Math.min(members, roomIn(before, rules)) : members
        const event: MembershipEvent = kind === 'failed' ? { kind, isMember, end } : { kind, members: asked, end }
        const next = nextMembership(before, event, rules)
        failures = kind !== 'failed' ? 0 : cut ? 1 : failures + 1
        membership = next.membership
        if (next.verdict !== 'again') {
          if (next.verdict === 'too few') expect([kind, membership.size < min]).toEqual(['left', true])
          else if (next.verdict === 'used up') expect(failures).toBeGreaterThan(rules.maxRestart)
          else expect([kind, cuts]).toEqual(['failed', 0])
          return
        }
        expect(membership.number).toBe(before.number + 1)
        expect(membership.size).toBeGreaterThanOrEqual(min)
        expect(membership.size).toBeLessThanOrEqual(rules.max)
        if (membership.size < before.size && kind === 'failed') failures = 0
      }
    }),
    { numRuns: 500 },
  )
})
