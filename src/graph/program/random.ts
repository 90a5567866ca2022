/**
 * @file Random bits from int32 multiplication, addition and truncating division alone, so that every provider computes the
 * same ones. A row (all but the last axis) gets two words from the seed, a column one from the stream's name; the bits of
 * an element mix them. Good for dropout and sampling, not for cryptography. The ops come first, then what engines compute.
 */
import { createRng, hashText } from '../../base/util/index.ts'
import type { Builder, Tensor } from './builder.ts'
import type { Shape } from './dim.ts'
import { add, cast, mul } from './elementwise.ts'

/** Random int32, the same for the same (seed, stream, position) on every engine. */
export function randomBits(builder: Builder, shape: Shape, stream: string): Tensor {
  return builder.emit({ kind: 'random_bits', shape, stream: builder.path(stream) }, [builder.seed()])
}

/** Uniform in [0, 1] with 24 bits. */
export function randomUniform(builder: Builder, shape: Shape, stream: string): Tensor {
  return add(mul(cast(randomBits(builder, shape, stream), 'float32'), 2 ** -32), 0.5)
}

/** x -> ((x * m) + (x * m) / d) for each pair: multiplies spread low bits up, divisions bring high bits down. */
export const ROW_ROUNDS: readonly (readonly [multiplier: number, divisor: number])[] = [
  [0x7feb352d, 65536],
  [0x846ca68b | 0, 32768],
  [0x9e3779b1 | 0, 65536],
]
export const ROW_STEP = 0x9e3779b1 | 0
/** What separates a row's second word from its first. */
export const SECOND_WORD = 0x632be5ab

/** The word that starts a stream's rows, and one odd word per column. */
export function streamWords(
  stream: string,
  columns: number,
): { readonly start: number; readonly columns: readonly number[] } {
  const rng = createRng(hashText(stream))
  const word = () => rng.below(2 ** 32) | 0
  return { start: word(), columns: Array.from({ length: columns }, () => word() | 1) }
}

/** The two words of a row: the plain form of what the graph computes. */
export function rowWords(seed: number, start: number, row: number): readonly [number, number] {
  const first = mixRow((Math.imul(row, ROW_STEP) + seed + start) | 0)
  return [(Math.imul(first, 2) + 1) | 0, mixRow((first + SECOND_WORD) | 0)]
}

/** The bits of an element from its row's words and its column's. */
export function elementBits([odd, addend]: readonly [number, number], column: number): number {
  const product = Math.imul(odd, column)
  return Math.imul(product, (product + addend) | 0)
}

function mixRow(word: number): number {
  return ROW_ROUNDS.reduce((x, [multiplier, divisor]) => {
    const product = Math.imul(x, multiplier)
    return (product + Math.trunc(product / divisor)) | 0
  }, word)
}
