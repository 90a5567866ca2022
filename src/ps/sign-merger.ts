/** @file Rows of several contributions as one: a sign that several sent appears once, its gradients added in their order. */
import { type DistinctSigns, MergeRoom } from '../table/index.ts'
import type { Placement } from './placement.ts'
import type { Contribution, Gradients } from './store.ts'

export class SignMerger {
  readonly #segments: number
  readonly #placement: Placement
  #room: MergeRoom | undefined

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

  #fit(signs: number, dim: number): MergeRoom {
    if (!this.#room || this.#room.signs < signs || this.#room.dim < dim)
      this.#room = new MergeRoom(2 ** Math.ceil(Math.log2(Math.max(signs, 1024))), dim, this.#segments, this.#placement)
    return this.#room
  }
}
