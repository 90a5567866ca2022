/** @file Ids out of samples: the signs that a slot has in each. */
import type { Columns, Slot } from '../../data/index.ts'

/** The last sign of a slot in each sample. */
export function lastSigns(slots: readonly Slot[], columns: Columns, slot: string): bigint[] {
  return signsOf(slots, columns, slot).map((signs) => signs.at(-1) ?? 0n)
}

/** The signs of a slot in each sample. */
export function signsOf(slots: readonly Slot[], { samples, counts, signs }: Columns, slot: string): BigUint64Array[] {
  const sparse = slots.filter(({ kind }) => kind === 'sparse')
  const place = sparse.findIndex(({ name }) => name === slot)
  let first = 0
  return Array.from({ length: samples }, (_, i) => {
    let own = signs.subarray(0, 0)
    for (let s = 0; s < sparse.length; s++) {
      const count = counts[i * sparse.length + s]!
      if (s === place) own = signs.subarray(first, first + count)
      first += count
    }
    return own
  })
}
