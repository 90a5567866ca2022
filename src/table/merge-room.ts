/** @file Rows of several lists as one: a sign that several have appears once, its gradients added in their order. */
import { type Workspace, WorkspacePlan } from '../kernel/index.ts'
import { type DistinctRoom, makeDistinct, planDistinct } from './distinct-room.ts'
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
  readonly #workspace: Workspace
  readonly #room: DistinctRoom
  readonly #rowsAt: number
  readonly #mergedAt: number
  #count = 0
  #found = 0

  constructor(signs: number, dim: number, segments: number, dealing: Dealing = { servers: 1, shards: 1 }) {
    const { servers, shards, tableServers = servers } = dealing
    this.signs = signs
    this.dim = dim
    this.#segments = segments
    const plan = new WorkspacePlan()
    this.#room = planDistinct(plan, signs, servers * segments)
    this.#rowsAt = plan.region(4 * signs * dim).at
    this.#mergedAt = plan.region(4 * signs * dim).at
    this.#workspace = plan.open()
    this.#workspace.kernel.setPlacement(tableServers, shards)
  }

  distinct(parts: readonly BigUint64Array[]): DistinctSigns {
    this.#count = concat(new BigUint64Array(this.#workspace.buffer, this.#room.at.signs, this.signs), parts)
    const { signs, lengths } = makeDistinct(this.#workspace, this.#room, this.#count, this.#segments)
    this.#found = signs.length
    return { signs: signs.slice(), lengths: lengths.slice() }
  }

  /** Adds show and click of the signs last made distinct. */
  addShown(parts: readonly Float32Array[]): Float32Array {
    const { kernel, buffer } = this.#workspace
    concat(new Float32Array(buffer, this.#rowsAt, 3 * this.signs), parts)
    const merged = new Float32Array(buffer, this.#mergedAt, 3 * this.#found)
    merged.fill(0)
    kernel.mergeShown(this.#room.at.inverse, this.#count, this.#rowsAt, this.#mergedAt)
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
    kernel.mergeSingle(this.#room.at.inverse, this.#count, this.#rowsAt, dim, this.#mergedAt)
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
