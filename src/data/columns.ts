/** @file Columns cut, joined, taken out of batches and without their zeros. */
import type { Batch, Columns, Slot } from './batch.ts'

/** Several columns of the same slots one after the other. */
export function joinColumns(slots: readonly Slot[], parts: readonly Columns[]): Columns {
  if (parts.length === 1) return parts[0]!
  const { sparse, dense } = split(slots)
  const samples = parts.reduce((sum, part) => sum + part.samples, 0)
  const signs = parts.reduce((sum, part) => sum + part.starts[part.samples]!, 0)
  const joined = {
    samples,
    counts: new Uint32Array(samples * sparse),
    starts: new Uint32Array(samples + 1),
    signs: new BigUint64Array(signs),
    dense: dense.map(({ width, dtype }) => new (dtype === 'int64' ? BigInt64Array : Float32Array)(samples * width)),
  }
  let [sample, sign] = [0, 0]
  for (const part of parts) {
    const used = part.starts[part.samples]!
    joined.counts.set(part.counts.subarray(0, part.samples * sparse), sample * sparse)
    joined.signs.set(part.signs.subarray(0, used), sign)
    for (let i = 1; i <= part.samples; i++) joined.starts[sample + i] = sign + part.starts[i]!
    // Both are of the slot's dtype; the union of array types hides it.
    for (const [d, { width }] of dense.entries())
      joined.dense[d]!.set(part.dense[d]!.subarray(0, part.samples * width) as never, sample * width)
    sample += part.samples
    sign += used
  }
  return joined
}

/** Samples [from, to) of columns. */
export function sliceColumns(slots: readonly Slot[], columns: Columns, from: number, to: number): Columns {
  const { sparse, dense } = split(slots)
  const first = columns.starts[from]!
  return {
    samples: to - from,
    counts: columns.counts.slice(from * sparse, to * sparse),
    starts: columns.starts.slice(from, to + 1).map((start) => start - first),
    signs: columns.signs.slice(first, columns.starts[to]!),
    dense: dense.map(({ width }, d) => columns.dense[d]!.slice(from * width, to * width)),
  }
}

/** The samples of a batch in memory of their own. */
export function batchColumns(slots: readonly Slot[], { pieces }: Batch): Columns {
  return joinColumns(
    slots,
    pieces.map(({ chunk, from, to }) => sliceColumns(slots, chunk, from, to)),
  )
}

/** Leaves out signs that are 0, as InMemoryDataset does: they stand for "nothing here". Compacts in place; a slot left empty keeps the single sign 0. Returns the same columns. */
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

function split(slots: readonly Slot[]) {
  return {
    sparse: slots.filter(({ kind }) => kind === 'sparse').length,
    dense: slots.filter((slot) => slot.kind === 'dense'),
  }
}
