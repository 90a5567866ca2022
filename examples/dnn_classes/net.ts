/** @file The CTR DNN: embeddings of all slots beside the dense features, through fully connected layers, to two classes. */

import * as nn from 'oarfish/nn'
import { concat, type Tensor } from 'oarfish/nn'

export interface DnnOptions {
  /** Sparse slots. */
  readonly slots: number
  readonly denseWidth: number
  readonly embeddingDim: number
  readonly layerSizes: readonly number[]
}

export class Dnn extends nn.Layer {
  readonly #embedding: nn.Embedding
  readonly #layers: nn.Mlp

  constructor({ slots, denseWidth, embeddingDim, layerSizes }: DnnOptions) {
    super()
    const init = { kind: 'uniform', low: -1, high: 1 } as const
    this.#embedding = this.addSublayer('embedding', new nn.Embedding({ dim: embeddingDim, init }))
    const width = slots * embeddingDim + denseWidth
    const mlp = new nn.Mlp({ in: width, sizes: [...layerSizes, 2], init: { kind: 'lecun_normal' } })
    this.#layers = this.addSublayer('fc', mlp)
  }

  /** Logits [B, 2]. */
  forward(slots: readonly nn.SparseSlot[], dense: Tensor): Tensor {
    const x = concat([this.#embedding.forward(slots), dense], 1) // [B, slots * dim + dense]
    return this.#layers.forward(x)
  }
}
