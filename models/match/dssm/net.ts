/** @file DSSM: a tower for queries and one for documents; a query should lie nearer to its document than to others. */
import { nn, type Tensor } from 'oarfish'

export interface DssmOptions {
  /** Columns of a query and of a document: letter trigrams. */
  readonly trigrams: number
  readonly layerSizes: readonly number[]
  readonly activations: readonly (nn.Activation | undefined)[]
}

export class Dssm extends nn.Layer {
  readonly #towers: nn.TwoTowers

  constructor({ trigrams, layerSizes: sizes, activations }: DssmOptions) {
    super()
    const tower = { in: trigrams, sizes, activations, init: { kind: 'xavier_normal' } } as const
    this.#towers = this.addSublayer('towers', new nn.TwoTowers({ query: tower, doc: tower }))
  }

  /** Vectors, and the cosines [B, 1] of the query with its document, which comes first, and with the others. */
  forward(query: Tensor, docs: readonly Tensor[]) {
    return this.#towers.forward(query, docs)
  }
}
