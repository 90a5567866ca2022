/** @file DeepFM: a factorization machine and a deep network over the same vectors of all features. */
import { add, concat, mul, nn, reshape, square, sub, sum, type Tensor, unsqueeze } from 'oarfish'

export interface DeepFmOptions {
  readonly embeddingDim: number
  readonly layerSizes: readonly number[]
}

/** Logits [B, 1]. A dense value is a feature too: its vector is scaled by the value. */
export function deepFm(
  slots: readonly nn.SparseSlot[],
  dense: Tensor,
  { embeddingDim: dim, layerSizes }: DeepFmOptions,
): Tensor {
  const init = { kind: 'truncated_normal', mean: 0, std: 0.1 / Math.sqrt(dim) } as const
  const weights = nn.embedding(slots, { name: 'embedding_one', dim: 1, init }) // [B, slots]
  const firstOrder = add(sum(weights, 1, true), nn.linear(dense, { name: 'dense_one', out: 1, init }))

  const rows = reshape(nn.embedding(slots, { name: 'embedding', dim, init }), [-1, slots.length, dim])
  const width = dense.shape[1] as number
  const denseVectors = dense.builder.parameter({ name: 'dense_vectors', shape: [width, dim], init })
  const vectors = concat([rows, mul(unsqueeze(dense, 2), denseVectors)], 1) // [B, slots + dense, dim]
  const flat = reshape(vectors, [-1, (slots.length + width) * dim])
  return add(add(firstOrder, pairs(vectors)), deep(flat, layerSizes))
}

/** The sum of <v_i, v_j> over all pairs i < j, as half of (sum v)^2 - sum v^2: [B, features, dim] -> [B, 1]. */
function pairs(vectors: Tensor): Tensor {
  const difference = sub(square(sum(vectors, 1)), sum(square(vectors), 1)) // [B, dim]
  return mul(sum(difference, 1, true), 0.5)
}

/** x [B, features * dim] -> [B, 1]. */
function deep(x: Tensor, layerSizes: readonly number[]): Tensor {
  return [...layerSizes, 1].reduce((input, out, i) => {
    const std = 1 / Math.sqrt(input.shape[1] as number)
    const activation = i < layerSizes.length ? { activation: 'relu' as const } : {}
    return nn.linear(input, { name: `fc${i}`, out, init: { kind: 'normal', mean: 0, std }, ...activation })
  }, x)
}
