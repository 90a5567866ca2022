/** @file How many workers or ranks a job has from one start to the next: who has left, who joins, whether enough are left. Pure: knows no process and no clock. */
import { FIRST_START, type JobEnd, type NextStart, nextStart, type StartRules, type Starts } from './next-start.ts'

export interface Membership {
  /** Of this start: larger than those of all starts before. A process of another start is refused by it. */
  readonly number: number
  /** Workers, or hosts with their ranks. */
  readonly size: number
  readonly starts: Starts
}

/** What ends a start. Whoever leaves in good order, or makes room for others to join, has saved the job together with the others. */
export type MembershipEvent =
  /** Members were asked to stop, by whoever takes their machine away. */
  | { readonly kind: 'left'; readonly members: number; readonly end: JobEnd }
  /** All were stopped, for so many to join. */
  | { readonly kind: 'joined'; readonly members: number; readonly end: JobEnd }
  /** A process died, or ended with an error; `isMember`: not a server, which every start needs. */
  | { readonly kind: 'failed'; readonly isMember: boolean; readonly end: JobEnd }

export interface MembershipRules extends StartRules {
  readonly min: number
  readonly max: number
}

export interface NextMembership {
  readonly membership: Membership
  readonly verdict: NextStart['verdict'] | 'too few'
}

export const firstMembership = (size: number): Membership => ({ number: 0, size, starts: FIRST_START })

export const isElastic = ({ min, max }: Pick<MembershipRules, 'min' | 'max'>) => min < max

/** How many more there is room for. */
export const roomIn = ({ size }: Membership, { max }: Pick<MembershipRules, 'max'>) => Math.max(0, max - size)

export function nextMembership(before: Membership, event: MembershipEvent, rules: MembershipRules): NextMembership {
  if (event.end.aborted) return { membership: before, verdict: 'over' }
  if (event.kind === 'failed') return afterFailure(before, event, rules)
  const { saved } = event.end
  // What was saved on the way out is a cut: failures are counted from there.
  const starts = { restart: before.starts.restart + 1, failed: 0, saved }
  const members = event.kind === 'joined' ? event.members : isElastic(rules) ? -event.members : 0
  const size = Math.min(rules.max, before.size + members)
  const membership = { number: before.number + 1, size, starts }
  return { membership, verdict: size < rules.min ? 'too few' : 'again' }
}

/** All start again; one that dies again and again, with no cut in between, is left out where the job can do without. */
function afterFailure(
  { number, size, starts: before }: Membership,
  { isMember, end }: MembershipEvent & { kind: 'failed' },
  rules: MembershipRules,
): NextMembership {
  const { starts, verdict } = nextStart(before, end, rules)
  const isDropped = verdict === 'used up' && isMember && isElastic(rules) && size > rules.min
  if (isDropped)
    return {
      membership: { number: number + 1, size: size - 1, starts: { ...starts, restart: starts.restart + 1, failed: 0 } },
      verdict: 'again',
    }
  return { membership: { number: verdict === 'again' ? number + 1 : number, size, starts }, verdict }
}
