/** @file The CTR DNN: embeddings of all slots beside the dense features, through fully connected layers, to two classes. */
import { concat, nn, type Tensor } from 'oarfish'

export interface DnnOptions {
  /** Sparse slots. */
  readonly slots: number
  readonly denseWidth: number
  readonly embeddingDim: number
  readonly layerSizes: readonly number[]
}

export class Dnn extends nn.Layer {
  readonly #embedding: nn.Embedding
  readonly #layers: readonly nn.Linear[]

  constructor({ slots, denseWidth, embeddingDim, layerSizes }: DnnOptions) {
    super()
    const init = { kind: 'uniform', low: -1, high: 1 } as const
    this.#embedding = this.addSublayer('embedding', new nn.Embedding({ dim: embeddingDim, init }))
    const widths = [slots * embeddingDim + denseWidth, ...layerSizes, 2]
    this.#layers = widths.slice(1).map((out, i) => {
      const activation = i < layerSizes.length ? { activation: 'relu' as const } : {}
      const std = 1 / Math.sqrt(widths[i]!)
      const layer = new nn.Linear({ in: widths[i]!, out, init: { kind: 'normal', mean: 0, std }, ...activation })
      return this.addSublayer(`fc${i}`, layer)
    })
  }

  /** Logits [B, 2]. */
  forward(slots: readonly nn.SparseSlot[], dense: Tensor): Tensor {
    const x = concat([this.#embedding.forward(slots), dense], 1) // [B, slots * dim + dense]
    return this.#layers.reduce((input, layer) => layer.forward(input), x)
  }
}
