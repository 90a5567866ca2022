/** @file The CTR DNN: embeddings of all slots beside the dense features, through fully connected layers, to two classes. */
import { concat, nn, type Tensor } from 'oarfish'

export interface DnnOptions {
  readonly embeddingDim: number
  readonly layerSizes: readonly number[]
}

/** Logits [B, 2]. */
export function dnn(slots: readonly nn.SparseSlot[], dense: Tensor, { embeddingDim, layerSizes }: DnnOptions): Tensor {
  const embedded = nn.embedding(slots, {
    name: 'embedding',
    dim: embeddingDim,
    init: { kind: 'uniform', low: -1, high: 1 },
  })
  let x = concat([embedded, dense], 1) // [B, slots * dim + dense]
  for (const [i, size] of [...layerSizes, 2].entries()) {
    const std = 1 / Math.sqrt(x.shape[1] as number)
    const activation = i < layerSizes.length ? { activation: 'relu' as const } : {}
    x = nn.linear(x, { name: `fc${i}`, out: size, init: { kind: 'normal', mean: 0, std }, ...activation })
  }
  return x
}
