/** @file Wide & Deep: a linear model of the dense features beside a deep network over the embeddings of all slots. */
import { add, concat, nn, type Tensor } from 'oarfish'

export interface WideDeepOptions {
  readonly embeddingDim: number
  readonly layerSizes: readonly number[]
}

/** Logits [B, 1]. */
export function wideDeep(
  slots: readonly nn.SparseSlot[],
  dense: Tensor,
  { embeddingDim, layerSizes }: WideDeepOptions,
): Tensor {
  const embedded = nn.embedding(slots, {
    name: 'embedding',
    dim: embeddingDim,
    init: { kind: 'uniform', low: -1, high: 1 },
  })
  const wide = nn.linear(dense, { name: 'wide', out: 1, init: { kind: 'truncated_normal', mean: 0, std: std(dense) } })
  return add(wide, deep(concat([embedded, dense], 1), layerSizes))
}

/** x [B, slots * dim + dense] -> [B, 1]. */
function deep(x: Tensor, layerSizes: readonly number[]): Tensor {
  return [...layerSizes, 1].reduce((input, out, i) => {
    const activation = i < layerSizes.length ? { activation: 'relu' as const } : {}
    return nn.linear(input, { name: `fc${i}`, out, init: { kind: 'normal', mean: 0, std: std(input) }, ...activation })
  }, x)
}

function std(x: Tensor): number {
  return 1 / Math.sqrt(x.shape[1] as number)
}
