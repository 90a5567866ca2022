/** @file DeepFM: a factorization machine and a deep network over the same vectors of all features. */
import { add, concat, mul, nn, reshape, sum, type Tensor, unsqueeze } from 'oarfish'

export interface DeepFmOptions {
  /** Sparse slots. */
  readonly slots: number
  readonly denseWidth: number
  readonly embeddingDim: number
  readonly layerSizes: readonly number[]
}

/** A dense value is a feature too: its vector is scaled by the value. */
export class DeepFm extends nn.Layer {
  readonly #dim: number
  readonly #weights: nn.Embedding
  readonly #denseWeights: nn.Linear
  readonly #vectors: nn.Embedding
  readonly #denseVectors: nn.Variable
  readonly #deep: nn.Mlp

  constructor({ slots, denseWidth, embeddingDim: dim, layerSizes }: DeepFmOptions) {
    super()
    const init = { kind: 'truncated_normal', mean: 0, std: 0.1 / Math.sqrt(dim) } as const
    this.#dim = dim
    this.#weights = this.addSublayer('embedding_one', new nn.Embedding({ dim: 1, init }))
    this.#denseWeights = this.addSublayer('dense_one', new nn.Linear({ in: denseWidth, out: 1, init }))
    this.#vectors = this.addSublayer('embedding', new nn.Embedding({ dim, init }))
    this.#denseVectors = this.addParameter({ name: 'dense_vectors', shape: [denseWidth, dim], init })
    const width = (slots + denseWidth) * dim
    const mlp = new nn.Mlp({ in: width, sizes: [...layerSizes, 1], init: { kind: 'lecun_normal' } })
    this.#deep = this.addSublayer('fc', mlp)
  }

  /** Logits [B, 1]. */
  forward(slots: readonly nn.SparseSlot[], dense: Tensor): Tensor {
    const weights = this.#weights.forward(slots) // [B, slots]
    const firstOrder = add(sum(weights, 1, true), this.#denseWeights.forward(dense))

    const rows = reshape(this.#vectors.forward(slots), [-1, slots.length, this.#dim])
    const scaled = mul(unsqueeze(dense, 2), this.#denseVectors.on(dense.builder))
    const vectors = concat([rows, scaled], 1) // [B, slots + dense, dim]
    const flat = reshape(vectors, [-1, (vectors.shape[1] as number) * this.#dim])
    const deep = this.#deep.forward(flat)
    return add(add(firstOrder, nn.pairwiseSum(vectors)), deep)
  }
}
