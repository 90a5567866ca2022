/** @file Signs of several ranks as one list: each once, rows spread to whoever asked, gradients added in the order of ranks. */
import { type Workspace, WorkspacePlan } from '../../../base/kernel/index.ts'
import type { Values } from '../../../weights/params/index.ts'
import { type DistinctRoom, type DistinctSigns, makeDistinct, planDistinct } from '../../../weights/table/index.ts'

/** One slot group's signs of a round. What it returns is its own memory and holds until the next round. */
export interface SignUnion<V extends Values> {
  /** Each of `signs` once, as tables want them. */
  distinct(signs: BigUint64Array): DistinctSigns
  /** Room for a row of each distinct sign, for the table at this place of the group. */
  values(table: number): V
  /** Rows out of `values` for `count` of the signs, from the one at `first` on. */
  spread(table: number, first: number, count: number): V
  /** One gradient for each sign: into `values`, summed up by distinct sign in the order of signs. */
  add(table: number, gradients: V): V
  /** The same for slot, show and click: a new array. */
  addShowClick(showClick: Float32Array): Float32Array
}

export type OpenUnion<V extends Values> = (dims: readonly number[]) => SignUnion<V>

/** By the kernels that a step uses on its own signs. */
export class KernelUnion implements SignUnion<Float32Array> {
  readonly #dims: readonly number[]
  readonly #segments: number
  #room: Room
  #count = 0
  #found = 0

  constructor(dims: readonly number[], segments: number) {
    this.#dims = dims
    this.#segments = segments
    this.#room = openRoom(LEAST_SIGNS, dims, segments)
  }

  distinct(signs: BigUint64Array): DistinctSigns {
    this.#count = signs.length
    if (signs.length > this.#room.signs)
      this.#room = openRoom(2 ** Math.ceil(Math.log2(signs.length)), this.#dims, this.#segments)
    const { at, workspace } = this.#room
    new BigUint64Array(workspace.buffer, at.signs, signs.length).set(signs)
    const distinct = makeDistinct(workspace, this.#room, signs.length, this.#segments)
    this.#found = distinct.signs.length
    return distinct
  }

  values(table: number): Float32Array {
    const { values, workspace } = this.#room
    return new Float32Array(workspace.buffer, values[table]!, this.#found * this.#dims[table]!)
  }

  spread(table: number, first: number, count: number): Float32Array {
    const { values, given, at, workspace } = this.#room
    const dim = this.#dims[table]!
    workspace.kernel.expandSingle(at.inverse + 4 * first, count, values[table]!, dim, given)
    return new Float32Array(workspace.buffer, given, count * dim)
  }

  add(table: number, gradients: Float32Array): Float32Array {
    const { values, given, at, workspace } = this.#room
    const merged = this.values(table)
    new Float32Array(workspace.buffer, given, gradients.length).set(gradients)
    merged.fill(0)
    workspace.kernel.mergeSingle(at.inverse, this.#count, given, this.#dims[table]!, values[table]!)
    return merged
  }

  addShowClick(showClick: Float32Array): Float32Array {
    const { given, at, showClickAt, workspace } = this.#room
    const merged = new Float32Array(workspace.buffer, showClickAt, 3 * this.#found)
    new Float32Array(workspace.buffer, given, showClick.length).set(showClick)
    merged.fill(0)
    workspace.kernel.mergeShowClick(at.inverse, this.#count, given, showClickAt)
    return merged
  }
}

const LEAST_SIGNS = 1024

interface Room extends DistinctRoom {
  readonly signs: number
  readonly workspace: Workspace
  /** Slot, show and click of distinct signs. */
  readonly showClickAt: number
  /** A value for each sign that was given. */
  readonly given: number
  /** By table: rows or gradients of distinct signs. */
  readonly values: readonly number[]
}

function openRoom(signs: number, dims: readonly number[], segments: number): Room {
  const plan = new WorkspacePlan()
  const room = planDistinct(plan, signs, segments)
  const showClickAt = plan.region(12 * signs).at
  const given = plan.region(4 * signs * Math.max(3, ...dims)).at
  const values = dims.map((dim) => plan.region(4 * signs * dim).at)
  return { ...room, signs, workspace: plan.open(), showClickAt, given, values }
}
