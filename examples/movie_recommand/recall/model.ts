/** @file Recall: a tower for users and one for films; the films of a batch are the negatives. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { cast, concat, greater, matmul, mean, mul, sum, type Tensor, transpose } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.003) }),
    embedding_dim: z.int().positive().default(16),
    fc_sizes: z.array(z.int().positive()).min(1).default([32, 16]),
    temperature: z.number().positive().default(0.1),
    recall_k: z.int().positive().default(10),
  },

  inputs: ({ sparse, dense }) => ({
    history: sparse('history'),
    profile: ['age', 'gender', 'occupation'].map((name) => sparse(name)),
    item: sparse('item'),
    genre: sparse('genre'),
    logShare: dense('log_share', 1),
  }),

  net({ history, profile, item, genre, logShare }, { embedding_dim: dim, fc_sizes: sizes, temperature, recall_k }) {
    const films = { table: 'item_emb', dim } as const
    const seen = nn.embedding(history, { name: 'history', ...films, pooling: 'mean' })
    const person = nn.embedding(profile, { name: 'profile', dim })
    const taken = nn.embedding(item, { name: 'item', ...films })
    const kinds = nn.embedding(genre, { name: 'genre', dim, pooling: 'mean' })
    const tower = (parts: Tensor[], name: string) =>
      nn.l2Normalize(nn.mlp(concat(parts, 1), { name, sizes }), { axis: 1 })
    const [user, film] = [tower([seen, person], 'user_tower'), tower([taken, kinds], 'item_tower')]
    const score = sum(mul(user, film), 1, true) // [B, 1]
    const above = sum(cast(greater(matmul(user, transpose(film)), score), 'float32'), 1, true)
    return {
      loss: mean(nn.inBatchSoftmax(user, film, { temperature, logQ: logShare })),
      hit: mean(cast(greater(recall_k, above), 'float32')),
      outputs: { score },
      vectors: { user, item: { id: item, vector: film } },
    }
  },

  metrics: ({ hit }) => ({ hit: metric.mean(hit) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
