/** @file The second-order term of factorization machines. */
import { mul, square, sub, sum, type Tensor } from '../program/index.ts'

/** The sum of <v_i, v_j> over all pairs i < j, as half of (sum v)^2 - sum v^2: [B, features, dim] -> [B, 1]. */
export function pairwiseSum(vectors: Tensor): Tensor {
  const difference = sub(square(sum(vectors, 1)), sum(square(vectors), 1)) // [B, dim]
  return mul(sum(difference, 1, true), 0.5)
}
