/** @file Pairs of fields with weights of their own: elementwise products, field-aware, field-weighted and symmetric pairs. */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import {
  add,
  constant,
  gather,
  matmul,
  mul,
  reshape,
  square,
  sub,
  sum,
  type Tensor,
  transpose,
} from '../program/index.ts'
import { pairsOf, pairwiseDots } from './interaction.ts'
import { Layer, type Variable } from './layer.ts'

function take(x: Tensor, numbers: readonly number[], axis = 1): Tensor {
  return gather(x, constant(x.builder, numbers, { shape: [numbers.length], dtype: 'int64' }), axis)
}

/** v_i * v_j, value by value, of all pairs i < j: [B, fields, d] -> [B, pairs, d]. */
export function pairProducts(vectors: Tensor): Tensor {
  const pairs = pairsOf(Number(vectors.shape[1]))
  const [left, right] = [pairs.map(([i]) => i), pairs.map(([, j]) => j)]
  return mul(take(vectors, left), take(vectors, right))
}

/** The sum of v_i * v_j over all pairs, value by value, as half of (sum v)^2 - sum v^2: [B, fields, d] -> [B, d]. */
export function biInteraction(vectors: Tensor): Tensor {
  return mul(sub(square(sum(vectors, 1)), sum(square(vectors), 1)), 0.5)
}

/**
 * The second order of field-aware factorization machines: the vector that field i has for field j times that which j has for i, over all
 * pairs. [B, fields, fields * d], the field that a vector is for being the slower index of a row -> [B, 1].
 */
export function fieldAwareSum(vectors: Tensor): Tensor {
  const [, fields, width] = vectors.shape.map(Number)
  const dim = width! / fields!
  const aware = reshape(vectors, [-1, fields! * fields!, dim])
  const pairs = pairsOf(fields!)
  const own = take(
    aware,
    pairs.map(([i, j]) => i * fields! + j),
  )
  const other = take(
    aware,
    pairs.map(([i, j]) => j * fields! + i),
  )
  return reshape(sum(mul(own, other), [1, 2]), [-1, 1])
}

/** Options of FieldWeightedPairs. */
export interface FieldPairsOptions {
  readonly fields: number
}

/** Options of SymmetricPairs. */
export interface SymmetricPairsOptions extends FieldPairsOptions {
  /** Length of the vectors. */
  readonly dim: number
}

const FIELD_PAIRS: OptionNames<FieldPairsOptions> = { fields: true }
const SYMMETRIC: OptionNames<SymmetricPairsOptions> = { fields: true, dim: true }

/** The sum of r_ij <v_i, v_j> over all pairs i < j, with a weight a pair of fields: `weight` [pairs, 1]. */
export class FieldWeightedPairs extends Layer {
  readonly #weight: Variable

  constructor({ fields, ...rest }: FieldPairsOptions) {
    super()
    refuseOptions('nn.FieldWeightedPairs', rest, FIELD_PAIRS)
    const shape = [(fields * (fields - 1)) / 2, 1]
    this.#weight = this.addParameter({ name: 'weight', shape, init: { kind: 'xavier_uniform' } })
  }

  /** [B, fields, d] -> [B, 1]. */
  forward(vectors: Tensor): Tensor {
    return matmul(pairwiseDots(vectors), this.#weight.on(vectors.builder))
  }
}

/** v_i' S v_j of all pairs i < j, with a symmetric matrix a pair, S = (W + W') / 2: `weight` [pairs, dim, dim]. */
export class SymmetricPairs extends Layer {
  readonly #weight: Variable
  readonly #fields: number

  constructor({ fields, dim, ...rest }: SymmetricPairsOptions) {
    super()
    refuseOptions('nn.SymmetricPairs', rest, SYMMETRIC)
    const init = { kind: 'normal', mean: 0, std: Math.sqrt(1 / dim) } as const
    this.#weight = this.addParameter({ name: 'weight', shape: [(fields * (fields - 1)) / 2, dim, dim], init })
    this.#fields = fields
  }

  /** [B, fields, dim] -> [B, pairs]. */
  forward(vectors: Tensor): Tensor {
    const pairs = pairsOf(this.#fields)
    const weight = this.#weight.on(vectors.builder)
    const symmetric = mul(add(weight, transpose(weight, [0, 2, 1])), 0.5)
    const byField = transpose(vectors, [1, 0, 2]) // [fields, B, dim]: a batch of products, one a matrix
    const left = take(
      byField,
      pairs.map(([i]) => i),
      0,
    )
    const right = take(
      byField,
      pairs.map(([, j]) => j),
      0,
    )
    return transpose(sum(mul(matmul(left, symmetric), right), 2), [1, 0])
  }
}
