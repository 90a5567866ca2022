/** @file Crosses of one row after the other, written right behind the signs they are made of. */
import { MOST_CROSSED } from '../../base/kernel/index.ts'
import type { Slot } from '../batch.ts'
import { tooManyCrossed } from './columns.ts'
import { bucketOf, lanesOf, step } from './feature.ts'

/** Signs of rows, as pairs of 32-bit words; `words` is another array when it has grown. */
export interface SignRows {
  readonly words: Uint32Array
  addNumber(sign: number): boolean
}

/** Appends the signs of one cross; `ends` says where those of each sparse slot of the row end, the first where they begin. */
export type RowCross = (rows: SignRows, ends: Uint32Array) => void

/** Whether each cross stands behind the slots it is made of, so that these are there when it is its turn. */
export function crossesFollow(slots: readonly Slot[]): boolean {
  const before = new Set<string>()
  return slots.every(({ name, feature }) => {
    before.add(name)
    return feature?.kind !== 'cross' || feature.of.every((one) => before.has(one))
  })
}

/** `sparse` are the names of all sparse slots, in their order. */
export function rowCross({ name, feature }: Slot, sparse: readonly string[]): RowCross | undefined {
  if (feature?.kind !== 'cross') return undefined
  const { buckets } = feature
  const of = feature.of.map((one) => sparse.indexOf(one))
  const begun = lanesOf(name)
  const combine = (rows: SignRows, ends: Uint32Array, place: number, a: number, b: number): void => {
    if (place === of.length) {
      rows.addNumber(bucketOf({ a, b }, buckets))
      return
    }
    const slot = of[place]!
    for (let at = ends[slot]!; at < ends[slot + 1]!; at++) {
      const { words } = rows
      const [low, high] = [words[2 * at]!, words[2 * at + 1]!]
      combine(rows, ends, place + 1, step(step(a, low), high), step(step(b, low), high))
    }
  }
  return (rows, ends) => {
    let crossed = 1
    for (const slot of of) crossed *= ends[slot + 1]! - ends[slot]!
    if (crossed > MOST_CROSSED)
      throw tooManyCrossed(
        name,
        of.map((slot) => ends[slot + 1]! - ends[slot]!),
        crossed,
        1,
      )
    combine(rows, ends, 0, begun.a, begun.b)
  }
}
