/** @file MIND: several vectors a user, one for each interest, routed from the history as capsules. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { cast, greater, matmul, max, mean, reshape, sum, transpose, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.005) }),
      /** Kept for PaddleRec's sake, as neg_samples: rows live in a table of no fixed size, and the items of the batch are the negatives. */
      item_count: z.int().positive().default(367_983),
      neg_samples: z.int().positive().default(128),
      embedding_dim: z.int().positive().default(64),
      /** Of an interest: as long as an item's vector. */
      hidden_size: z.int().positive().default(64),
      /** Items of a history that are read. */
      maxlen: z.int().positive().default(20),
      /** How sharply the item that is trained on chooses among the interests. */
      pow_p: z.int().positive().default(1),
      capsual: z
        .strictObject({
          iters: z.int().positive().default(3),
          max_k: z.int().positive().default(4),
          init_std: z.number().positive().default(1),
        })
        .prefault({}),
      /** Of hit. */
      recall_k: z.int().positive().default(10),
    })
    .refine(({ embedding_dim, hidden_size }) => embedding_dim === hidden_size, {
      path: ['hidden_size'],
      error: 'expected embedding_dim: interests are compared with the vectors of items',
    }),

  inputs: ({ sparse }) => ({ history: sparse('hist_item'), target: sparse('target_item') }),

  /** The loss is that of the item taken among those of the whole batch; `hit` is how often fewer than recall_k of them are nearer to an interest. */
  net({ history, target }, { embedding_dim: dim, maxlen: length, pow_p: power, capsual, recall_k }) {
    const items = { table: 'item_emb', dim, init: { kind: 'normal', mean: 0, std: 1 / Math.sqrt(dim) } } as const
    const { x, mask } = nn.sequenceEmbedding(history, { name: 'history', ...items, length })
    const routing = {
      in: dim,
      out: dim,
      length,
      interests: capsual.max_k,
      rounds: capsual.iters,
      std: capsual.init_std,
    }
    const interests = new nn.CapsuleRouting(routing).named('capsules').forward(x, mask) // [B, K, dim]
    const item = nn.embedding(target, { name: 'target', ...items }) // [B, dim]
    const user = nn.labelAwareAttention(interests, item, { power })

    const scores = max(matmul(interests, transpose(item)), 1) // [B, B]: the nearest interest to each item of the batch
    const own = max(sum(matmul(interests, unsqueeze(item, 2)), 2), 1, true) // [B, 1]
    const above = sum(cast(greater(scores, own), 'float32'), 1, true)
    return {
      loss: mean(nn.inBatchSoftmax(user, item)),
      hit: mean(cast(greater(recall_k, above), 'float32')),
      outputs: { interests: reshape(interests, [-1, capsual.max_k * dim]), item },
      vectors: { user: interests, item: { id: target, vector: item } },
    }
  },

  metrics: ({ hit }) => ({ hit: metric.mean(hit) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
