/** @file Wide & Deep: a linear model of the dense features beside a deep network over the embeddings of all slots. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, mean, sigmoid } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(2).default(27),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_000_001),
    sparse_feature_dim: z.int().positive().default(9),
    dense_input_dim: z.int().positive().default(13),
    fc_sizes: z.array(z.int().positive()).min(1).default([512, 256, 128, 32]),
    distributed_embedding: z.int().min(0).max(1).default(0),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, dense_input_dim, fc_sizes }) {
    const rows = nn.embedding(slots, { name: 'embedding', dim, init: { kind: 'uniform', low: -1, high: 1 } })
    const x = concat([rows, dense], 1) // [B, slots * dim + dense]
    const deep = nn.mlp(x, { name: 'fc', sizes: [...fc_sizes, 1], init: { kind: 'lecun_normal' } })
    const init = { kind: 'truncated_normal', mean: 0, std: 1 / Math.sqrt(dense_input_dim) } as const
    const logit = add(nn.linear(dense, { name: 'wide', out: 1, init }), deep) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
