/** @file Logistic regression: one weight per sign, one per dense value, a bias. */
import { abs, add, mean, nn, sum, type Tensor } from 'oarfish'

export interface LogisticRegression {
  /** [B, 1]. */
  readonly logit: Tensor
  /** Mean over the batch of the sum of |w| over a sample's signs: a scalar, for the L1 penalty. */
  readonly l1: Tensor
}

export function logisticRegression(slots: readonly nn.SparseSlot[], dense: Tensor): LogisticRegression {
  const init = { kind: 'truncated_normal', mean: 0, std: 0.1 } as const
  const weights = nn.embedding(slots, { name: 'embedding', dim: 1, init }) // [B, slots]
  const signs = sum(weights, 1, true)
  return {
    logit: add(signs, nn.linear(dense, { name: 'linear', out: 1, init })),
    l1: mean(sum(abs(weights), 1)),
  }
}
