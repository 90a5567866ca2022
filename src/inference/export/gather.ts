/** @file From samples to the inputs of the graph: rows by sign, pooled or in sequence, and dense values. Where rows come from is not known here. */
import type { Columns } from '../../data/index.ts'
import type { ModelInput } from '../../graph/engine/index.ts'
import type { ExportInput, ExportSlot } from './manifest.ts'

/** A table to take rows from. */
export interface RowSource {
  /** Adds `factor` times the row of the sign (low, high) to `out` from `at` on. */
  add(low: number, high: number, factor: number, out: Float32Array, at: number): void
}

export interface GatherOptions {
  readonly slots: readonly ExportSlot[]
  readonly inputs: readonly ExportInput[]
  readonly tables: Readonly<Record<string, RowSource>>
}

/** The graph's inputs for these samples. Sums run in the order of the text, as in training. */
export function gatherInputs(options: GatherOptions, columns: Columns): Record<string, ModelInput> {
  const batch = new SignBatch(options.slots, columns)
  const lengths = sequenceLengths(options.inputs, batch)
  const inputs: Record<string, ModelInput> = {}
  for (const input of options.inputs) {
    if (input.kind === 'dense') inputs[input.name] = denseInput(input, options.slots, columns)
    else if (input.kind === 'rows' && input.pooling === 'sequence') {
      const { rows, mask } = sequenceInput(input, options.tables[input.table]!, batch, lengths)
      inputs[input.name] = rows
      const masked = options.inputs.find((other) => other.kind === 'mask' && other.rows === input.name)
      if (masked) inputs[masked.name] = mask
    } else if (input.kind === 'rows') inputs[input.name] = pooledInput(input, options.tables[input.table]!, batch)
  }
  return inputs
}

type RowsInput = Extract<ExportInput, { kind: 'rows' }>

/** Samples with the place of every cell (one slot of one sample) among the signs, as 32-bit halves. */
class SignBatch {
  readonly samples: number
  readonly words: Uint32Array
  readonly #sparse: readonly string[]
  readonly #counts: Uint32Array
  readonly #firsts: Uint32Array

  constructor(slots: readonly ExportSlot[], { samples, counts, signs }: Columns) {
    this.samples = samples
    this.words = new Uint32Array(signs.buffer, signs.byteOffset, 2 * signs.length)
    this.#sparse = slots.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
    this.#counts = counts
    const cells = samples * this.#sparse.length
    this.#firsts = new Uint32Array(cells)
    for (let cell = 0, first = 0; cell < cells; first += counts[cell++]!) this.#firsts[cell] = first
  }

  slot(name: string): number {
    return this.#sparse.indexOf(name)
  }

  count(sample: number, slot: number): number {
    return this.#counts[sample * this.#sparse.length + slot]!
  }

  first(sample: number, slot: number): number {
    return this.#firsts[sample * this.#sparse.length + slot]!
  }
}

function pooledInput({ slots, dim, pooling }: RowsInput, table: RowSource, batch: SignBatch): ModelInput {
  const { samples, words } = batch
  const data = new Float32Array(samples * slots.length * dim)
  for (const [k, name] of slots.entries()) {
    const slot = batch.slot(name)
    for (let i = 0; i < samples; i++) {
      const [first, count] = [batch.first(i, slot), batch.count(i, slot)]
      const factor = poolFactor(pooling, count)
      const at = (i * slots.length + k) * dim
      for (let sign = first; sign < first + count; sign++)
        table.add(words[2 * sign]!, words[2 * sign + 1]!, factor, data, at)
    }
  }
  return { dtype: 'float32', data, dims: [samples, slots.length * dim] }
}

/** In float32, as the kernel computes it. */
function poolFactor(pooling: RowsInput['pooling'], count: number): number {
  if (pooling === 'mean') return Math.fround(1 / count)
  if (pooling === 'sqrtn') return Math.fround(1 / Math.fround(Math.sqrt(count)))
  return 1
}

/** The length of each symbol: that of the longest sample of any sequence that has it, rounded up to a power of two. */
function sequenceLengths(inputs: readonly ExportInput[], batch: SignBatch): Record<string, number> {
  const lengths: Record<string, number> = {}
  for (const input of inputs) {
    if (input.kind !== 'rows' || input.pooling !== 'sequence' || typeof input.shape[1] !== 'string') continue
    const slot = batch.slot(input.slots[0]!)
    let most = lengths[input.shape[1]] ?? 1
    for (let i = 0; i < batch.samples; i++) most = Math.max(most, batch.count(i, slot))
    lengths[input.shape[1]] = 2 ** Math.ceil(Math.log2(most))
  }
  return lengths
}

/** Padded to the declared length, or to that of its symbol. Signs beyond the length are dropped. */
function sequenceInput(
  { slots, dim, shape }: RowsInput,
  table: RowSource,
  batch: SignBatch,
  lengths: Readonly<Record<string, number>>,
) {
  const { samples, words } = batch
  const slot = batch.slot(slots[0]!)
  const length = typeof shape[1] === 'number' ? shape[1] : lengths[shape[1]!]!
  const data = new Float32Array(samples * length * dim)
  const mask = new Float32Array(samples * length)
  for (let i = 0; i < samples; i++) {
    const first = batch.first(i, slot)
    const kept = Math.min(length, batch.count(i, slot))
    for (let k = 0; k < kept; k++) {
      const sign = first + k
      table.add(words[2 * sign]!, words[2 * sign + 1]!, 1, data, (i * length + k) * dim)
      mask[i * length + k] = 1
    }
  }
  const rows: ModelInput = { dtype: 'float32', data, dims: [samples, length, dim] }
  return { rows, mask: { dtype: 'float32', data: mask, dims: [samples, length] } satisfies ModelInput }
}

function denseInput(
  { slot, dtype }: Extract<ExportInput, { kind: 'dense' }>,
  slots: readonly ExportSlot[],
  { samples, dense }: Columns,
): ModelInput {
  const index = slots.filter(({ kind }) => kind === 'dense').findIndex(({ name }) => name === slot)
  const data = dense[index]!
  return { dtype, data, dims: [samples, data.length / samples] }
}
