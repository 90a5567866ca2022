/** @file Signs of several lists as one: each appears once, and the rows that came with it are added in the order of the lists. */
import { type Workspace, WorkspacePlan } from '../../base/kernel/index.ts'
import type { Placement } from './placement.ts'
import type { DistinctSigns } from './table.ts'

const ONE_SERVER: Placement = { servers: 1, shards: 1 }

/** Distinct signs come out server after server, segment after segment; on a server all are its own. */
export class SignMerger {
  readonly #segments: number
  readonly #placement: Placement
  #room: Room | undefined
  #count = 0
  #found = 0

  constructor(segments: number, placement: Placement = ONE_SERVER) {
    this.#segments = segments
    this.#placement = placement
  }

  /** Each sign of several lists once, as a copy. Rows of up to `width` floats may then be added. */
  distinct(parts: readonly BigUint64Array[], width = 1): DistinctSigns {
    const total = parts.reduce((sum, { length }) => sum + length, 0)
    const { workspace, distinct, signs } = this.#fit(total, width)
    this.#count = concat(new BigUint64Array(workspace.buffer, distinct.at.signs, signs), parts)
    const found = makeDistinct(workspace, distinct, this.#count, this.#segments)
    this.#found = found.signs.length
    return { signs: found.signs.slice(), lengths: found.lengths.slice() }
  }

  /** Each sign once, and how many of the lists have it. */
  counted(parts: readonly BigUint64Array[]): DistinctSigns & { readonly counts: Float32Array } {
    const distinct = this.distinct(parts)
    const ones = parts.map(({ length }) => new Float32Array(length).fill(1))
    return { ...distinct, counts: this.add(ones, 1) }
  }

  /** Sums up the rows of the signs last made distinct, each list's times its weight. */
  add(parts: readonly Float32Array[], dim: number, weights?: readonly number[]): Float32Array {
    const { workspace, distinct, signs, width, rowsAt, mergedAt } = this.#room!
    const { kernel, buffer } = workspace
    concat(new Float32Array(buffer, rowsAt, signs * width), parts)
    let at = rowsAt
    for (const [p, { length }] of parts.entries()) {
      if (weights) kernel.scale(at, length, weights[p]!)
      at += 4 * length
    }
    const merged = new Float32Array(buffer, mergedAt, this.#found * dim)
    merged.fill(0)
    kernel.mergeSingle(distinct.at.inverse, this.#count, rowsAt, dim, mergedAt)
    return merged.slice()
  }

  /** Adds show and click of the signs last made distinct; `width` was at least 3. */
  addShowClick(parts: readonly Float32Array[]): Float32Array {
    const { workspace, distinct, signs, rowsAt, mergedAt } = this.#room!
    concat(new Float32Array(workspace.buffer, rowsAt, 3 * signs), parts)
    const merged = new Float32Array(workspace.buffer, mergedAt, 3 * this.#found)
    merged.fill(0)
    workspace.kernel.mergeShowClick(distinct.at.inverse, this.#count, rowsAt, mergedAt)
    return merged.slice()
  }

  #fit(signs: number, width: number): Room {
    if (!this.#room || this.#room.signs < signs || this.#room.width < width)
      this.#room = openRoom(2 ** Math.ceil(Math.log2(Math.max(signs, 1024))), width, this.#segments, this.#placement)
    return this.#room
  }
}

/** A workspace for up to `signs` signs in all, with rows of up to `width` floats. */
interface Room {
  readonly signs: number
  readonly width: number
  readonly workspace: Workspace
  readonly distinct: DistinctRoom
  readonly rowsAt: number
  readonly mergedAt: number
}

function openRoom(signs: number, width: number, segments: number, placement: Placement): Room {
  const { servers, shards, tableServers = servers } = placement
  const plan = new WorkspacePlan()
  const distinct = planDistinct(plan, signs, servers * segments)
  const rowsAt = plan.region(4 * signs * width).at
  const mergedAt = plan.region(4 * signs * width).at
  const workspace = plan.open()
  workspace.kernel.setPlacement(tableServers, shards)
  return { signs, width, workspace, distinct, rowsAt, mergedAt }
}

function concat<A extends Float32Array | BigUint64Array>(into: A, parts: readonly A[]): number {
  let at = 0
  for (const part of parts) {
    into.set(part as never, at)
    at += part.length
  }
  return at
}

/** Where in a workspace signs are made distinct. Signs are put at `signs`; `inverse` then has the distinct sign of each of them. */
export interface DistinctRoom {
  readonly at: Readonly<Record<'signs' | 'table' | 'arrival' | 'place' | 'inverse' | 'distinct' | 'lengths', number>>
  readonly mask: number
  readonly groups: number
}

/** For up to `signs` signs, which may lie somewhere already; distinct ones come out group after group. */
export function planDistinct(
  plan: WorkspacePlan,
  signs: number,
  groups: number,
  signsAt = plan.region(8 * signs).at,
): DistinctRoom {
  const tableSize = 2 ** Math.ceil(Math.log2(Math.max(2 * signs, groups, 16)))
  const at = {
    signs: signsAt,
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
