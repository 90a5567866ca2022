/** @file Signs that are 0 left out of columns, as InMemoryDataset does: they stand for "nothing here". */
import type { Columns } from './pack.ts'

/** Compacts in place; a slot left empty keeps the single sign 0. Returns the same columns. */
export function dropZeros(columns: Columns, sparseSlots: number): Columns {
  const { samples, counts, starts, signs } = columns
  let [read, write] = [0, 0]
  for (let sample = 0; sample < samples; sample++) {
    starts[sample] = write
    for (let slot = sample * sparseSlots; slot < (sample + 1) * sparseSlots; slot++) {
      const first = write
      for (const end = read + counts[slot]!; read < end; read++) {
        if (signs[read] !== 0n) signs[write++] = signs[read]!
      }
      if (write === first) signs[write++] = 0n
      counts[slot] = write - first
    }
  }
  starts[samples] = write
  return columns
}
