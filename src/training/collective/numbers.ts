/** @file The types that travel and what is computed with them, as plain loops. */
import type { Numbers } from './group.ts'

export const TYPES = ['float32', 'float64', 'int32', 'int64', 'uint8'] as const
export type TypeName = (typeof TYPES)[number]
/** What is reduced on the way; a mean is a sum that is divided at the end. */
export const PAIRWISE = ['sum', 'max'] as const
export type Pairwise = (typeof PAIRWISE)[number]

const CONSTRUCTORS = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
} as const

export function typeOf(values: Numbers): TypeName {
  const found = TYPES.find((type) => values instanceof CONSTRUCTORS[type])
  if (!found) throw new Error(`internal: ${Object.prototype.toString.call(values)} cannot travel between processes`)
  return found
}

export const elementBytes = (type: TypeName): number => CONSTRUCTORS[type].BYTES_PER_ELEMENT

/** A view of `length` elements of `type`. */
export function viewOf(type: TypeName, buffer: ArrayBufferLike, offset: number, length: number): Numbers {
  return new CONSTRUCTORS[type](buffer as ArrayBuffer, offset, length)
}

/** Where the parts of `counts` start. */
export function offsetsOf(counts: readonly number[]): readonly number[] {
  let at = 0
  return counts.map((count) => {
    at += count
    return at - count
  })
}

/** `total` over `size` ranks, the first ones one more where it does not divide. */
export function evenCounts(total: number, size: number): readonly number[] {
  return Array.from({ length: size }, (_, rank) => Math.floor(total / size) + (rank < total % size ? 1 : 0))
}

/** into[i] = into[i] + from[i], or the larger of both. */
export function combine(into: Numbers, from: Numbers, reduction: Pairwise): void {
  LOOPS[reduction](into as Float32Array, from as Float32Array)
}

/** Typed as float32; `+` and `>` mean the same for the other types, bigints included. */
const LOOPS: Readonly<Record<Pairwise, (into: Float32Array, from: Float32Array) => void>> = {
  sum: (into, from) => {
    for (let i = 0; i < into.length; i++) into[i]! += from[i]!
  },
  max: (into, from) => {
    for (let i = 0; i < into.length; i++) if (from[i]! > into[i]!) into[i] = from[i]!
  },
}

/** Sums to means. */
export function divide(values: Numbers, by: number): void {
  if (values instanceof BigInt64Array) {
    for (let i = 0; i < values.length; i++) values[i]! /= BigInt(by)
    return
  }
  // Assignment to an array of integers drops the fraction.
  for (let i = 0; i < values.length; i++) values[i]! /= by
}
