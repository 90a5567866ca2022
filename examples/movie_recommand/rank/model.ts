/** @file Ranking: how likely a user is to like a film. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, sigmoid } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.003) }),
    embedding_dim: z.int().positive().default(8),
    fc_sizes: z.array(z.int().positive()).min(1).default([32, 16]),
  },

  inputs: ({ sparse, label }) => ({
    click: label('click'),
    single: ['user', 'age', 'gender', 'occupation', 'item'].map((name) => sparse(name)),
    lists: ['history', 'genre'].map((name) => sparse(name)),
  }),

  net({ click, single, lists }, { embedding_dim: dim, fc_sizes }) {
    const rows = [single, lists].flat().map((slot) => nn.embedding(slot, { name: slot.name, dim, pooling: 'mean' }))
    const logit = nn.mlp(concat(rows, 1), { name: 'fc', sizes: [...fc_sizes, 1] })
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs }, { click }) => ({ auc: metric.auc(outputs.predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
