/** @file Rows of several lists as one: a sign that several have appears once, its gradients added in their order. */
import { type Workspace, WorkspacePlan } from '../kernel/index.ts'
import type { DistinctSigns } from './table.ts'

/** How signs are dealt out before their segments. */
interface Dealing {
  readonly servers: number
  readonly shards: number
  readonly tableServers?: number
}

/** A workspace for up to `signs` signs in all; distinct ones come out server after server, segment after segment. */
export class MergeRoom {
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

  constructor(signs: number, dim: number, segments: number, dealing: Dealing = { servers: 1, shards: 1 }) {
    const { servers, shards, tableServers = servers } = dealing
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
