/** @file Matrix products as functions. */
import type { Tensor } from './builder.ts'
import { reshape } from './layout.ts'

/** Matrix product over the two last axes; leading axes broadcast. */
export function matmul(a: Tensor, b: Tensor): Tensor {
  if (b.shape.length !== 2 || a.shape.length < 2) return a.builder.emit({ kind: 'matmul' }, [a, b])
  if (a.shape.length === 2) return gemm(a, b)
  // One product of a tall matrix: its weight gradient then needs no sum over the batch.
  const flat = reshape(a, [-1, a.shape.at(-1)!])
  return reshape(gemm(flat, b), [...a.shape.slice(0, -1), b.shape[1]!])
}

export interface GemmOptions {
  readonly bias?: Tensor
  readonly transposeA?: boolean
  readonly transposeB?: boolean
}

/** a b (+ bias), either matrix optionally stored transposed. */
export function gemm(a: Tensor, b: Tensor, { bias, transposeA = false, transposeB = false }: GemmOptions = {}): Tensor {
  return a.builder.emit({ kind: 'gemm', transposeA, transposeB }, bias ? [a, b, bias] : [a, b])
}
