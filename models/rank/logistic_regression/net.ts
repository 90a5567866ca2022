/** @file Logistic regression: one weight per sign, one per dense value, a bias. */
import { abs, add, mean, nn, sum, type Tensor } from 'oarfish'

export interface LogisticOutput {
  /** [B, 1]. */
  readonly logit: Tensor
  /** Mean over the batch of the sum of |w| over a sample's signs: a scalar, for the L1 penalty. */
  readonly l1: Tensor
}

export class LogisticRegression extends nn.Layer {
  readonly #weights: nn.Embedding
  readonly #linear: nn.Linear

  constructor({ denseWidth }: { readonly denseWidth: number }) {
    super()
    const init = { kind: 'truncated_normal', mean: 0, std: 0.1 } as const
    this.#weights = this.addSublayer('embedding', new nn.Embedding({ dim: 1, init }))
    this.#linear = this.addSublayer('linear', new nn.Linear({ in: denseWidth, out: 1, init }))
  }

  forward(slots: readonly nn.SparseSlot[], dense: Tensor): LogisticOutput {
    const weights = this.#weights.forward(slots) // [B, slots]
    return {
      logit: add(sum(weights, 1, true), this.#linear.forward(dense)),
      l1: mean(sum(abs(weights), 1)),
    }
  }
}
