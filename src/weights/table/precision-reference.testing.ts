/** @file assembly/segment-precision.ts as plain arithmetic: what rounding by chance makes of weights, by seed, sign and step. */
import { nearestBfloat16 } from '../../base/kernel/index.ts'
import { GOLDEN, mix64 } from '../../base/util/index.ts'

const FLOAT = new Float32Array(1)
const BITS = new Uint32Array(FLOAT.buffer)

const bitsOf = (value: number): number => {
  FLOAT[0] = value
  return BITS[0]!
}
const floatOf = (half: number): number => {
  BITS[0] = half * 2 ** 16
  return FLOAT[0]!
}

export const nearest = (value: number): number => floatOf(nearestBfloat16(value))

export interface Chance {
  /** The table's own. */
  readonly seed: bigint
  readonly sign: bigint
  readonly step: number
  /** Of the steps that a row has missed before `step`. */
  readonly missed?: boolean
}

/** The weights of one row, each up or down. */
export function byChance(weights: readonly number[], { seed, sign, step, missed }: Chance): number[] {
  const drawn = mix64(mix64(sign ^ seed) + BigInt(step) * GOLDEN)
  const base = missed ? mix64(drawn) : drawn
  return weights.map((value, j) => {
    if (Number.isNaN(value)) return value
    const four = mix64(base + BigInt((j >> 2) + 1) * GOLDEN)
    const part = Number((four >> BigInt(16 * (j & 3))) & 0xffffn)
    return floatOf(Math.floor((bitsOf(value) + part) / 2 ** 16))
  })
}
