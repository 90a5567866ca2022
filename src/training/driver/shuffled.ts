/** @file Samples in which one slot's values have changed places among them: what the model knows by it is gone, all else is as it was. Pure. */
import { createRng } from '../../base/util/index.ts'
import type { Columns, Slot } from '../../data/index.ts'

/** A permutation by a seed: the same on every machine. */
export function permutation(length: number, seed: number): Uint32Array {
  const order = Uint32Array.from({ length }, (_, i) => i)
  const rng = createRng(BigInt(seed))
  for (let i = length - 1; i > 0; i--) {
    const other = rng.below(i + 1)
    const kept = order[i]!
    order[i] = order[other]!
    order[other] = kept
  }
  return order
}

/** Sample `i` has the slot's values of sample `order[i]`. */
export function shuffled(slots: readonly Slot[], columns: Columns, name: string, order: Uint32Array): Columns {
  const kind = slots.find((slot) => slot.name === name)!.kind
  const alike = slots.filter((slot) => slot.kind === kind)
  const place = alike.findIndex((slot) => slot.name === name)
  return kind === 'sparse'
    ? shuffledSigns(columns, alike.length, place, order)
    : {
        ...columns,
        dense: columns.dense.map((own, d) => (d === place ? shuffledRows(own, columns.samples, order) : own)),
      }
}

function shuffledRows<A extends Float32Array | BigInt64Array>(rows: A, samples: number, order: Uint32Array): A {
  const width = rows.length / samples
  const result = rows.slice() as A
  for (let i = 0; i < samples; i++)
    result.set(rows.subarray(order[i]! * width, (order[i]! + 1) * width) as never, i * width)
  return result
}

function shuffledSigns(columns: Columns, slots: number, place: number, order: Uint32Array): Columns {
  const { samples, counts, starts, signs } = columns
  const changed = { counts: counts.slice(), starts: starts.slice(), signs: signs.slice() }
  /** Where the signs of a sample's slot begin. */
  const firstOf = (sample: number) => {
    let at = starts[sample]!
    for (let s = 0; s < place; s++) at += counts[sample * slots + s]!
    return at
  }
  let write = 0
  for (let i = 0; i < samples; i++) {
    changed.starts[i] = write
    const other = order[i]!
    const own = firstOf(i)
    const [mine, theirs] = [counts[i * slots + place]!, counts[other * slots + place]!]
    changed.counts[i * slots + place] = theirs
    const taken = firstOf(other)
    for (const [from, to] of [
      [starts[i]!, own],
      [taken, taken + theirs],
      [own + mine, starts[i + 1]!],
    ] as const) {
      changed.signs.set(signs.subarray(from, to), write)
      write += to - from
    }
  }
  changed.starts[samples] = write
  return { ...columns, ...changed }
}
