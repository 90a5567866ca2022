/** @file What happens in one run of `npm run chaos -- --elastic`: workers or hosts leave and join while they train, and somebody dies in the middle of that. */
import { createRng, type Rng } from '../../src/base/util/index.ts'
import {
  type Fault,
  type FaultKind,
  type Mode,
  type Moment,
  numbered,
  type Plan,
  pick,
  RINGS,
  WAIT_MS,
} from './plan.ts'

export const ELASTIC_MODES = ['sync', 'async', 'half_async', 'geo', 'ring', 'ring_divided'] as const satisfies Mode[]

const MOST = 4
/** What comes first: somebody who leaves makes room for those who join. */
const FIRST: readonly FaultKind[] = ['leave', 'leave', 'leave', 'leave', 'kill']
const THEN: readonly FaultKind[] = ['join', 'join', 'join', 'leave', 'kill', 'kill']
const MOMENTS: { readonly [K in FaultKind]?: readonly Moment[] } = {
  leave: ['training', 'training', 'training', 'cut', 'save', 'evaluation'],
  join: ['training', 'training', 'cut', 'save', 'evaluation'],
  kill: ['change', 'change', 'change', 'recovery', 'recovery', 'training'],
}
/** A job of this size has few batches for each: what follows a change must come soon, or the job is over. */
const SOON = 24

export function elasticPlanOf(seed: number, number: number, modes: readonly Mode[] = ELASTIC_MODES): Plan {
  const rng = createRng(BigInt(seed) * 2_000_003n + BigInt(number))
  const mode = pick(rng, modes)
  const isRing = RINGS.has(mode)
  const workers = isRing ? 2 + rng.below(2) : 3 + rng.below(MOST - 2)
  const least = 1 + rng.below(workers - 1)
  const servers = isRing ? 0 : 1 + rng.below(2)
  const interval = [20, 30][rng.below(2)]!
  const size = { mode, servers, workers, least, threads: 1, interval, hosts: 1, disk: 'plain' } as const
  const kind = pick(rng, FIRST)
  const first = faultOf(rng, kind, size, kind === 'kill' ? ['training', 'cut'] : undefined)
  const more = Array.from({ length: 1 + rng.below(3) }, () => faultOf(rng, pick(rng, THEN), size))
  return { seed, number, ...size, faults: [first, ...more] }
}

type Size = Pick<Plan, 'mode' | 'servers' | 'workers'>

function faultOf(rng: Rng, kind: FaultKind, size: Size, moments: readonly Moment[] = MOMENTS[kind]!): Fault {
  const moment = pick(rng, moments)
  return {
    ...{ kind, moment, victims: victimsOf(rng, kind, size) },
    ...{ epoch: rng.below(4) === 0 ? 1 : 0, batch: rng.below(SOON) },
    ...{ afterMs: Math.round(rng.uniform() * WAIT_MS[moment]), forMs: 0 },
  }
}

/** The launcher of host 0 is where the others meet: it stays. */
function victimsOf(rng: Rng, kind: FaultKind, { mode, servers, workers }: Size): readonly string[] {
  if (kind === 'join') return []
  if (kind === 'leave') return [RINGS.has(mode) ? `host ${1 + rng.below(workers - 1)}` : `worker ${rng.below(workers)}`]
  return [pick(rng, [...numbered('server', servers), ...numbered('worker', workers)])]
}
