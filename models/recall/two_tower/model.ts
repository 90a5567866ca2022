/** @file Two towers: a vector of the user and one of the item, near each other where the user took the item; the items of a batch are the negatives. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, cast, greater, matmul, mean, mul, sum, transpose } from 'oarfish/nn'

/** A cosine may differ by so much with the place of the item in the batch: the own item, and the same one of another sample, are not nearer than itself. */
const ROUNDING = 1e-5

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    embedding_dim: z.int().positive().default(32),
    fc_sizes: z.array(z.int().positive()).min(1).default([64, 32]),
    /** Divides the cosines before the softmax. */
    temperature: z.number().positive().default(0.1),
    /** Of hit: how often fewer than this many samples of the batch have a nearer item. */
    recall_k: z.int().positive().default(10),
  },

  /** What the user took before, the item taken, and the logarithm of the item's share of all samples, which is taken off its score. */
  inputs: ({ sparse, dense }) => ({
    history: sparse('history'),
    item: sparse('item'),
    logShare: dense('log_share', 1),
  }),

  net({ history, item, logShare }, { embedding_dim: dim, fc_sizes, temperature, recall_k }) {
    const seen = nn.embedding(history, { name: 'history', table: 'item_emb', dim, pooling: 'mean' })
    const taken = nn.embedding(item, { name: 'item', table: 'item_emb', dim })
    const tower = (x: typeof seen, name: string) => nn.l2Normalize(nn.mlp(x, { name, sizes: fc_sizes }), { axis: 1 }) // [B, d], of length 1
    const [user, own] = [tower(seen, 'user_tower'), tower(taken, 'item_tower')]
    const score = sum(mul(user, own), 1, true) // [B, 1]
    const above = sum(cast(greater(matmul(user, transpose(own)), add(score, ROUNDING)), 'float32'), 1, true)
    return {
      loss: mean(nn.inBatchSoftmax(user, own, { temperature, logQ: logShare })),
      hit: mean(cast(greater(recall_k, above), 'float32')),
      outputs: { score, user_vector: user, item_vector: own },
      vectors: { user, item: { id: item, vector: own } },
    }
  },

  metrics: ({ hit }) => ({ hit: metric.mean(hit) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
