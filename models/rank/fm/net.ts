/** @file The factorization machine: a weight per feature, and a vector per feature whose products weigh every pair. */
import { add, concat, mul, nn, reshape, square, sub, sum, type Tensor, unsqueeze } from 'oarfish'

export interface FmOptions {
  readonly embeddingDim: number
}

/** Logits [B, 1]. A dense value is a feature too: its vector is scaled by the value. */
export function fm(slots: readonly nn.SparseSlot[], dense: Tensor, { embeddingDim: dim }: FmOptions): Tensor {
  const init = { kind: 'truncated_normal', mean: 0, std: 0.1 / Math.sqrt(dim) } as const
  const weights = nn.embedding(slots, { name: 'embedding_one', dim: 1, init }) // [B, slots]
  const firstOrder = add(sum(weights, 1, true), nn.linear(dense, { name: 'dense_one', out: 1, init }))

  const rows = reshape(nn.embedding(slots, { name: 'embedding', dim, init }), [-1, slots.length, dim])
  const denseVectors = dense.builder.parameter({ name: 'dense_vectors', shape: [dense.shape[1] as number, dim], init })
  const vectors = concat([rows, mul(unsqueeze(dense, 2), denseVectors)], 1) // [B, slots + dense, dim]
  return add(firstOrder, pairs(vectors))
}

/** The sum of <v_i, v_j> over all pairs i < j, as half of (sum v)^2 - sum v^2: [B, features, dim] -> [B, 1]. */
function pairs(vectors: Tensor): Tensor {
  const difference = sub(square(sum(vectors, 1)), sum(square(vectors), 1)) // [B, dim]
  return mul(sum(difference, 1, true), 0.5)
}
