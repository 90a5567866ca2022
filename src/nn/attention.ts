/** @file The attention of deep interest networks: how much each element of a history counts for the candidate at hand. */
import { concat, expand, maskedSoftmax, matmul, mul, reshape, sub, type Tensor, unsqueeze } from '../program/index.ts'
import type { Activation } from './activation.ts'
import { Layer } from './layer.ts'
import { Mlp } from './layers.ts'

export interface AttentionUnitOptions {
  /** Columns of the query and of the keys. */
  readonly width: number
  /** Hidden layers of the network that scores an element. @default [80, 40] */
  readonly sizes?: readonly number[]
  /** @default 'sigmoid' */
  readonly activation?: Activation
}

/**
 * Scores every element k beside the query q by a small network (`fc`) over k, q, k - q and k * q, and adds up the elements
 * by the softmax of the scores, divided by sqrt(width); masked elements count nothing.
 */
export class AttentionUnit extends Layer {
  readonly #scorer: Mlp
  readonly #width: number

  constructor({ width, sizes = [80, 40], activation = 'sigmoid' }: AttentionUnitOptions) {
    super()
    this.#width = width
    this.#scorer = this.addSublayer('fc', new Mlp({ in: 4 * width, sizes: [...sizes, 1], activation }))
  }

  /** query [B, d], keys [B, T, d], mask [B, T] -> [B, d]; zeros where nothing counts. */
  forward(query: Tensor, keys: Tensor, mask: Tensor): Tensor {
    const queries = expand(unsqueeze(query, 1), keys.shape) // [B, T, d]
    const pairs = concat([keys, queries, sub(keys, queries), mul(keys, queries)], 2)
    const scores = reshape(this.#scorer.forward(pairs), mask.shape) // [B, T]
    const weights = maskedSoftmax(mul(scores, 1 / Math.sqrt(this.#width)), mask)
    return reshape(matmul(unsqueeze(weights, 1), keys), [-1, this.#width])
  }
}
