/** @file Weights as the trainer's evaluation sees them, by name and by sign. */
import type { LocalParams } from '../params/index.ts'
import type { DistinctSigns } from '../table/index.ts'
import { mix64 } from '../util/index.ts'
import type { RowSource } from './gather.ts'

/** Dense weights and state by name. */
export function denseWeights({ dense }: LocalParams): Map<string, Float32Array> {
  const all = new Float32Array(dense.layout.floats)
  dense.pull(all)
  return new Map(dense.layout.entries.map(({ name, at, size }) => [name, all.subarray(at, at + size)]))
}

/** Fills `rows` with the weights of signs grouped by segment; rows that are missing are only imagined. */
export function pullRows(params: LocalParams, table: number, distinct: DistinctSigns, rows: Float32Array): void {
  const nothing = new Float32Array()
  const weights = new Float32Array(params.dense.layout.floats)
  params.pull({ tables: [{ table, distinct, rows, gradients: nothing }], weights }, false)
}

/** The segment of a table that holds a sign. */
export function segmentOf(sign: bigint, segmentBits: number): number {
  return segmentBits === 0 ? 0 : Number(mix64(sign) >> BigInt(64 - segmentBits))
}

/** Rows of these signs straight from the trainer. */
export function trainerRows(params: LocalParams, index: number, signs: BigUint64Array): RowSource {
  const { dim, segmentBits } = params.tables[index]!
  const distinct = [...new Set(signs)].sort((a, b) => segmentOf(a, segmentBits) - segmentOf(b, segmentBits))
  const lengths = new Uint32Array(2 ** segmentBits)
  for (const sign of distinct) lengths[segmentOf(sign, segmentBits)]!++
  const rows = new Float32Array(distinct.length * dim)
  pullRows(params, index, { signs: BigUint64Array.from(distinct), lengths }, rows)
  const places = new Map(distinct.map((sign, i) => [sign, i * dim]))
  return {
    add: (low, high, factor, out, at) => {
      const first = places.get((BigInt(high) << 32n) | BigInt(low))!
      for (let j = 0; j < dim; j++) out[at + j] = out[at + j]! + Math.fround(factor * rows[first + j]!)
    },
  }
}
