/** @file The factorization machine: a weight per feature, and a vector per feature whose products weigh every pair. */
import { add, concat, mul, nn, reshape, sum, type Tensor, unsqueeze } from 'oarfish'

export interface FmOptions {
  readonly denseWidth: number
  readonly embeddingDim: number
}

/** A dense value is a feature too: its vector is scaled by the value. */
export class Fm extends nn.Layer {
  readonly #dim: number
  readonly #weights: nn.Embedding
  readonly #denseWeights: nn.Linear
  readonly #vectors: nn.Embedding
  readonly #denseVectors: nn.Variable

  constructor({ denseWidth, embeddingDim: dim }: FmOptions) {
    super()
    const init = { kind: 'truncated_normal', mean: 0, std: 0.1 / Math.sqrt(dim) } as const
    this.#dim = dim
    this.#weights = this.addSublayer('embedding_one', new nn.Embedding({ dim: 1, init }))
    this.#denseWeights = this.addSublayer('dense_one', new nn.Linear({ in: denseWidth, out: 1, init }))
    this.#vectors = this.addSublayer('embedding', new nn.Embedding({ dim, init }))
    this.#denseVectors = this.addParameter({ name: 'dense_vectors', shape: [denseWidth, dim], init })
  }

  /** Logits [B, 1]. */
  forward(slots: readonly nn.SparseSlot[], dense: Tensor): Tensor {
    const weights = this.#weights.forward(slots) // [B, slots]
    const firstOrder = add(sum(weights, 1, true), this.#denseWeights.forward(dense))

    const rows = reshape(this.#vectors.forward(slots), [-1, slots.length, this.#dim])
    const scaled = mul(unsqueeze(dense, 2), this.#denseVectors.on(dense.builder))
    return add(firstOrder, nn.pairwiseSum(concat([rows, scaled], 1))) // of [B, slots + dense, dim]
  }
}
