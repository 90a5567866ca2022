/** @file Wide & Deep: a linear model of the dense features beside a deep network over the embeddings of all slots. */
import { add, concat, nn, type Tensor } from 'oarfish'

export interface WideDeepOptions {
  /** Sparse slots. */
  readonly slots: number
  readonly denseWidth: number
  readonly embeddingDim: number
  readonly layerSizes: readonly number[]
}

export class WideDeep extends nn.Layer {
  readonly #embedding: nn.Embedding
  readonly #wide: nn.Linear
  readonly #deep: nn.Mlp

  constructor({ slots, denseWidth, embeddingDim, layerSizes }: WideDeepOptions) {
    super()
    const init = { kind: 'uniform', low: -1, high: 1 } as const
    this.#embedding = this.addSublayer('embedding', new nn.Embedding({ dim: embeddingDim, init }))
    const wideInit = { kind: 'truncated_normal', mean: 0, std: 1 / Math.sqrt(denseWidth) } as const
    this.#wide = this.addSublayer('wide', new nn.Linear({ in: denseWidth, out: 1, init: wideInit }))
    const width = slots * embeddingDim + denseWidth
    const mlp = new nn.Mlp({ in: width, sizes: [...layerSizes, 1], init: { kind: 'lecun_normal' } })
    this.#deep = this.addSublayer('fc', mlp)
  }

  /** Logits [B, 1]. */
  forward(slots: readonly nn.SparseSlot[], dense: Tensor): Tensor {
    const x = concat([this.#embedding.forward(slots), dense], 1) // [B, slots * dim + dense]
    const deep = this.#deep.forward(x)
    return add(this.#wide.forward(dense), deep)
  }
}
