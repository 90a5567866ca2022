/** @file Dense gradients of all ranks as one: their mean by sample, in buckets. State by the rule that the model gives it. */

import type { Program } from '../../../graph/program/index.ts'
import { type DenseLayout, type Slice, type StateRun, stateRuns, type Values } from '../../../weights/params/index.ts'
import type { Ranks } from './ranks.ts'

/** Where gradients are summed up: shared memory of the size of the layout, so that no call copies them. */
export interface ReduceRoom<V extends Values> {
  readonly values: V
  /** values[start, end) = factor * from[start, end) */
  put(from: V, start: number, end: number, factor: number): void
}

export interface DenseReducerOptions<V extends Values> {
  readonly ranks: Ranks
  readonly room: ReduceRoom<V>
  readonly layout: DenseLayout
  readonly program: Pick<Program, 'state'>
}

/** While one bucket is under way, the next is weighed. */
const BUCKET_FLOATS = 1024 * 1024

export class DenseReducer<V extends Values> {
  readonly #options: DenseReducerOptions<V>
  readonly #buckets: readonly Slice[]
  readonly #states: readonly StateRun[]
  #last: () => void | Promise<void> = () => undefined

  constructor(options: DenseReducerOptions<V>) {
    this.#options = options
    const { layout, program } = options
    this.#states = stateRuns(program, layout)
    const parts = [{ from: 0, to: layout.trainable }, ...this.#states.filter(({ merge }) => merge !== 'max')]
    this.#buckets = parts.flatMap(({ from, to }) =>
      Array.from({ length: Math.ceil((to - from) / BUCKET_FLOATS) }, (_, i) => ({
        from: from + i * BUCKET_FLOATS,
        to: Math.min(to, from + (i + 1) * BUCKET_FLOATS),
      })),
    )
  }

  /** Sends the gradients of this rank on their way; `weights` is what the step began with. The last bucket may still be under way then. */
  async begin(gradients: V, weights: V, weight: number): Promise<void> {
    const { ranks, room } = this.#options
    for (const { from, to } of this.#buckets) {
      this.#put(gradients, weights, from, to, weight)
      await this.#last()
      this.#last = ranks.begin.allReduce(room.values.subarray(from, to) as V, 'sum')
    }
  }

  /** The mean over all ranks, and the merged state. */
  async finish(gradients: V, weights: V, weight: number): Promise<V> {
    const { ranks, room } = this.#options
    await this.#last()
    this.#last = () => undefined
    for (const { from, to, merge } of this.#states) {
      if (merge === 'sum') for (let i = from; i < to; i++) room.values[i]! += weights[i]!
      if (merge !== 'max') continue
      room.put(weight === 0 ? weights : gradients, from, to, 1)
      const finish = ranks.begin.allReduce(room.values.subarray(from, to) as V, 'max')
      await finish()
    }
    return room.values
  }

  /** What is summed up of a state is its change in this step. */
  #put(gradients: V, weights: V, from: number, to: number, weight: number): void {
    const { values, put } = this.#options.room
    const isSum = this.#states.some((state) => state.merge === 'sum' && state.from <= from && from < state.to)
    if (!isSum) put(gradients, from, to, weight)
    else for (let i = from; i < to; i++) values[i] = weight === 0 ? 0 : gradients[i]! - weights[i]!
  }
}
