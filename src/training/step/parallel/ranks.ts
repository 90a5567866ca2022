/** @file What data-parallel training asks of its group: calls that are under way while something else is done. */

import { deriveSeed } from '../../../base/util/index.ts'
import type { Gathered, Numbers, Reduction } from '../../collective/index.ts'

type Begun<T> = () => T | Promise<T>

/** One call at a time: what a call returns is called before the next one is made. */
export interface RankCalls {
  allReduce(values: Numbers, reduction: Reduction): Begun<void>
  allGather<T extends Numbers>(own: T, counts: readonly number[]): Begun<Gathered<T>>
  allToAll<T extends Numbers>(values: T, counts: readonly number[], coming: readonly number[]): Begun<Gathered<T>>
}

export interface Ranks {
  readonly rank: number
  readonly size: number
  readonly begin: RankCalls
}

/** Ranks draw different random numbers, rank 0 those of one process. */
export function rankSeed(seed: number, rank: number): number {
  return rank === 0 ? seed : Number(BigInt.asUintN(31, deriveSeed(seed, `rank ${rank}`)))
}

/** 64-bit signs travel as the signed type that groups know; the bits are the same. */
export function asSigned({ buffer, byteOffset, length }: BigUint64Array): BigInt64Array {
  return new BigInt64Array(buffer, byteOffset, length)
}

export function asSigns({ buffer, byteOffset, length }: BigInt64Array): BigUint64Array {
  return new BigUint64Array(buffer, byteOffset, length)
}
