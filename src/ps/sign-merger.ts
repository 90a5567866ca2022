/** @file Rows of several contributions as one: a sign that several sent appears once, its gradients added in their order. */
import { type Workspace, WorkspacePlan } from '../kernel/index.ts'
import type { DistinctSigns } from '../table/index.ts'
import type { Placement } from './placement.ts'
import type { Contribution, Gradients } from './store.ts'

export class SignMerger {
  readonly #segments: number
  readonly #placement: Placement
  #room: Room | undefined

  /** Distinct signs come out server after server, segment after segment; on a server all are its own. */
  constructor(segments: number, placement: Placement = { servers: 1, shards: 1 }) {
    this.#segments = segments
    this.#placement = placement
  }

  /** Each sign of several lists once. */
  distinct(parts: readonly BigUint64Array[]): DistinctSigns {
    const total = parts.reduce((sum, { length }) => sum + length, 0)
    return this.#fit(total, 1).distinct(parts)
  }

  /** Weighted sums by sign; the result is copied out of the merger's own memory. */
  merge(
    parts: readonly Contribution[],
    weights: readonly number[],
    dims: readonly number[],
  ): Pick<Gradients, 'groups' | 'gradients' | 'shown'> {
    const tableGroups = parts[0]!.tableGroups
    const groups: DistinctSigns[] = []
    const gradients: Float32Array[] = []
    const shown: Float32Array[] = []
    for (let g = 0; g < parts[0]!.groups.length; g++) {
      const tables = tableGroups.flatMap((group, t) => (group === g ? [t] : []))
      const total = parts.reduce((sum, part) => sum + part.groups[g]!.signs.length, 0)
      const room = this.#fit(total, Math.max(3, ...tables.map((t) => dims[t]!)))
      groups.push(room.distinct(parts.map((part) => part.groups[g]!.signs)))
      if (parts[0]!.shown) shown.push(room.addShown(parts.map((part) => part.shown![g]!)))
      for (const t of tables)
        gradients[t] = room.add(
          parts.map((part) => part.gradients[t] as Float32Array),
          weights,
          dims[t]!,
        )
    }
    return { groups, gradients, ...(parts[0]!.shown && { shown }) }
  }

  #fit(signs: number, dim: number): Room {
    if (!this.#room || this.#room.signs < signs || this.#room.dim < dim)
      this.#room = new Room(2 ** Math.ceil(Math.log2(Math.max(signs, 1024))), dim, this.#segments, this.#placement)
    return this.#room
  }
}

/** A workspace for up to `signs` signs in all. */
class Room {
  readonly signs: number
  readonly dim: number
  readonly #segments: number
  readonly #groups: number
  readonly #workspace: Workspace
  readonly #at: Readonly<Record<'signs' | 'table' | 'arrival' | 'place' | 'inverse' | 'distinct' | 'lengths', number>>
  readonly #rowsAt: number
  readonly #mergedAt: number
  readonly #mask: number
  #count = 0
  #found = 0

  constructor(signs: number, dim: number, segments: number, placement: Placement) {
    const { servers, shards, tableServers = servers } = placement
    this.signs = signs
    this.dim = dim
    this.#segments = segments
    this.#groups = servers * segments
    const plan = new WorkspacePlan()
    const tableSize = 2 ** Math.ceil(Math.log2(Math.max(2 * signs, this.#groups, 16)))
    this.#mask = tableSize - 1
    this.#at = {
      signs: plan.region(8 * signs).at,
      table: plan.region(4 * tableSize).at,
      arrival: plan.region(8 * signs).at,
      place: plan.region(4 * signs).at,
      inverse: plan.region(4 * signs).at,
      distinct: plan.region(8 * signs).at,
      lengths: plan.region(4 * this.#groups).at,
    }
    this.#rowsAt = plan.region(4 * signs * dim).at
    this.#mergedAt = plan.region(4 * signs * dim).at
    this.#workspace = plan.open()
    this.#workspace.kernel.setPlacement(tableServers, shards)
  }

  distinct(parts: readonly BigUint64Array[]): DistinctSigns {
    const { kernel, buffer } = this.#workspace
    const { signs, table, arrival, place, inverse, distinct, lengths } = this.#at
    this.#count = concat(new BigUint64Array(buffer, signs, this.signs), parts)
    const bits = Math.log2(this.#segments)
    const mask = this.#mask
    this.#found = kernel.dedupe(signs, this.#count, bits, table, mask, arrival, place, inverse, distinct, lengths)
    return {
      signs: new BigUint64Array(buffer, distinct, this.#found).slice(),
      lengths: new Uint32Array(buffer, lengths, this.#groups).slice(),
    }
  }

  /** Adds show and click of the signs last made distinct. */
  addShown(parts: readonly Float32Array[]): Float32Array {
    const { kernel, buffer } = this.#workspace
    concat(new Float32Array(buffer, this.#rowsAt, 3 * this.signs), parts)
    const merged = new Float32Array(buffer, this.#mergedAt, 3 * this.#found)
    merged.fill(0)
    kernel.mergeShown(this.#at.inverse, this.#count, this.#rowsAt, this.#mergedAt)
    return merged.slice()
  }

  /** Adds the rows of the signs last made distinct. */
  add(parts: readonly Float32Array[], weights: readonly number[], dim: number): Float32Array {
    const { kernel, buffer } = this.#workspace
    concat(new Float32Array(buffer, this.#rowsAt, this.signs * this.dim), parts)
    let at = this.#rowsAt
    for (const [p, { length }] of parts.entries()) {
      kernel.scale(at, length, weights[p]!)
      at += 4 * length
    }
    const merged = new Float32Array(buffer, this.#mergedAt, this.#found * dim)
    merged.fill(0)
    kernel.mergeSingle(this.#at.inverse, this.#count, this.#rowsAt, dim, this.#mergedAt)
    return merged.slice()
  }
}

function concat<A extends Float32Array | BigUint64Array>(into: A, parts: readonly A[]): number {
  let at = 0
  for (const part of parts) {
    into.set(part as never, at)
    at += part.length
  }
  return at
}
