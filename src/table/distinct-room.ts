/** @file Where in a workspace signs are made distinct, and the call that does it. */
import type { Workspace, WorkspacePlan } from '../kernel/index.ts'
import type { DistinctSigns } from './table.ts'

/** Addresses of its parts. Signs are put at `signs`; `inverse` then has the distinct sign of each of them. */
export interface DistinctRoom {
  readonly at: Readonly<Record<'signs' | 'table' | 'arrival' | 'place' | 'inverse' | 'distinct' | 'lengths', number>>
  readonly mask: number
  readonly groups: number
}

/** For up to `signs` signs; distinct ones come out group after group. */
export function planDistinct(plan: WorkspacePlan, signs: number, groups: number): DistinctRoom {
  const tableSize = 2 ** Math.ceil(Math.log2(Math.max(2 * signs, groups, 16)))
  const at = {
    signs: plan.region(8 * signs).at,
    table: plan.region(4 * tableSize).at,
    arrival: plan.region(8 * signs).at,
    place: plan.region(4 * signs).at,
    inverse: plan.region(4 * signs).at,
    distinct: plan.region(8 * signs).at,
    lengths: plan.region(4 * groups).at,
  }
  return { at, mask: tableSize - 1, groups }
}

/** Of the first `count` signs. What it returns lies in the workspace. */
export function makeDistinct(
  { kernel, buffer }: Workspace,
  { at, mask, groups }: DistinctRoom,
  count: number,
  segments: number,
): DistinctSigns {
  const { signs, table, arrival, place, inverse, distinct, lengths } = at
  const bits = Math.log2(segments)
  const found = kernel.dedupe(signs, count, bits, table, mask, arrival, place, inverse, distinct, lengths)
  return { signs: new BigUint64Array(buffer, distinct, found), lengths: new Uint32Array(buffer, lengths, groups) }
}
