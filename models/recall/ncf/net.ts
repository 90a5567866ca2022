/** @file Neural collaborative filtering: products of a user's and an item's values, a network over both, or the two together. */
import { concat, mul, nn, type Tensor } from 'oarfish'

export const MODES = ['NCF_NeuMF', 'NCF_GMF', 'NCF_MLP'] as const

export interface NcfOptions {
  readonly mode: (typeof MODES)[number]
  /** Values of a row in the factorization. */
  readonly factors: number
  /** The first is the width of a user's and an item's row side by side. */
  readonly layerSizes: readonly number[]
}

export class Ncf extends nn.Layer {
  readonly #parts: readonly (Gmf | MlpPart)[]
  readonly #prediction: nn.Linear

  constructor({ mode, factors, layerSizes }: NcfOptions) {
    super()
    this.#parts = [
      ...(mode === 'NCF_MLP' ? [] : [this.addSublayer('mf', new Gmf(factors))]),
      ...(mode === 'NCF_GMF' ? [] : [this.addSublayer('mlp', new MlpPart(layerSizes))]),
    ]
    const width = (mode === 'NCF_MLP' ? 0 : factors) + (mode === 'NCF_GMF' ? 0 : layerSizes.at(-1)!)
    this.#prediction = this.addSublayer('prediction', new nn.Linear({ in: width, out: 1 }))
  }

  /** Logits [B, 1]. */
  forward(user: nn.SparseSlot, item: nn.SparseSlot): Tensor {
    const vectors = this.#parts.map((part) => part.forward(user, item))
    return this.#prediction.forward(concat(vectors, 1))
  }
}

const ROWS = { kind: 'normal', mean: 0, std: 0.01 } as const

/** Generalized matrix factorization: the product of both rows, value by value. */
class Gmf extends nn.Layer {
  readonly #user: nn.Embedding
  readonly #item: nn.Embedding

  constructor(dim: number) {
    super()
    this.#user = this.addSublayer('user', new nn.Embedding({ dim, init: ROWS }))
    this.#item = this.addSublayer('item', new nn.Embedding({ dim, init: ROWS }))
  }

  forward(user: nn.SparseSlot, item: nn.SparseSlot): Tensor {
    return mul(this.#user.forward(user), this.#item.forward(item))
  }
}

/** Fully connected layers over both rows side by side. */
class MlpPart extends nn.Layer {
  readonly #user: nn.Embedding
  readonly #item: nn.Embedding
  readonly #fc: nn.Mlp

  constructor([width, ...sizes]: readonly number[]) {
    super()
    const dim = Math.floor(width! / 2)
    this.#user = this.addSublayer('user', new nn.Embedding({ dim, init: ROWS }))
    this.#item = this.addSublayer('item', new nn.Embedding({ dim, init: ROWS }))
    const init = { kind: 'lecun_normal' } as const
    this.#fc = this.addSublayer('fc', new nn.Mlp({ in: 2 * dim, sizes, lastActivation: 'relu', init }))
  }

  forward(user: nn.SparseSlot, item: nn.SparseSlot): Tensor {
    return this.#fc.forward(concat([this.#user.forward(user), this.#item.forward(item)], 1))
  }
}
