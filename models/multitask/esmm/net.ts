/** @file ESMM: click and conversion rates over shared rows; what is learned is the product, over all impressions. */
import { mul, nn, slice, softmax, type Tensor } from 'oarfish'

export interface EsmmOptions {
  readonly fields: number
  readonly embeddingDim: number
  readonly ctrSizes: readonly number[]
  readonly cvrSizes: readonly number[]
}

/** Probabilities [B, 1]; `ctcvr` is that of a click that converts. */
export interface Rates {
  readonly ctr: Tensor
  readonly cvr: Tensor
  readonly ctcvr: Tensor
}

export class Esmm extends nn.Layer {
  readonly #embedding: nn.Embedding
  readonly #ctr: nn.Mlp
  readonly #cvr: nn.Mlp

  constructor({ fields, embeddingDim: dim, ctrSizes, cvrSizes }: EsmmOptions) {
    super()
    this.#embedding = this.addSublayer(
      'embedding',
      new nn.Embedding({ dim, init: { kind: 'uniform', low: -1, high: 1 } }),
    )
    const tower = (sizes: readonly number[]) =>
      new nn.Mlp({ in: fields * dim, sizes: [...sizes, 2], init: { kind: 'lecun_normal' } })
    this.#ctr = this.addSublayer('ctr', tower(ctrSizes))
    this.#cvr = this.addSublayer('cvr', tower(cvrSizes))
  }

  forward(fields: readonly nn.SparseSlot[]): Rates {
    const rows = this.#embedding.forward(fields) // [B, fields * dim]
    const [ctr, cvr] = [this.#ctr, this.#cvr].map((tower) => slice(softmax(tower.forward(rows)), 1, 1))
    return { ctr: ctr!, cvr: cvr!, ctcvr: mul(ctr!, cvr!) }
  }
}
