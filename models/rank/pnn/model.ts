/** @file PNN: a layer of products of fields before the deep network. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, matmul, mean, reshape, sigmoid, sum, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(3).default(27),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_000_001),
    sparse_feature_dim: z.int().positive().default(9),
    dense_input_dim: z.int().positive().default(13),
    /** `inner`: a number a pair of fields; `outer`: the matrix of the sum of all fields with itself. */
    product_type: z.enum(['inner', 'outer']).default('inner'),
    fc_sizes: z.array(z.int().positive()).min(1).default([400, 400, 400]),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, product_type, fc_sizes }) {
    const rows = nn.embedding(slots, { name: 'embedding', dim }) // [B, slots * dim]
    const vectors = reshape(rows, [-1, slots.length, dim])
    const total = sum(vectors, 1) // [B, dim]
    const products =
      product_type === 'inner'
        ? nn.pairwiseDots(vectors)
        : reshape(matmul(unsqueeze(total, 2), unsqueeze(total, 1)), [-1, dim * dim])
    const logit = nn.mlp(concat([rows, products, dense], 1), { name: 'fc', sizes: [...fc_sizes, 1] }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
