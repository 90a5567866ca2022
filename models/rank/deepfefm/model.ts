/** @file DeepFEFM: pairs of fields through symmetric matrices, which the deep network sees too. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, mean, mul, reshape, sigmoid, sum, type Tensor, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(3).default(27),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_000_001),
    sparse_feature_dim: z.int().positive().default(9),
    dense_input_dim: z.int().positive().default(13),
    fc_sizes: z.array(z.int().positive()).min(1).default([400, 400, 400]),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, dense_input_dim, fc_sizes }) {
    const init = { kind: 'uniform', low: -0.05, high: 0.05 } as const
    const rows = reshape(nn.embedding(slots, { name: 'embedding', dim, init }), [-1, slots.length, dim])
    const own = click.builder.parameter({ name: 'dense_vectors', shape: [dense_input_dim, dim], init })
    const vectors = concat([rows, mul(unsqueeze(dense, 2), own)], 1) // [B, slots + dense values, dim]
    const fields = slots.length + dense_input_dim
    const scores = new nn.SymmetricPairs({ fields, dim }).named('pairs').forward(vectors) // [B, pairs]
    const x = concat([reshape(vectors, [-1, fields * dim]), scores], 1)
    const deep = nn.mlp(x, { name: 'fc', sizes: [...fc_sizes, 1] })
    const logit = add(add(firstOrder(slots, dense), sum(scores, 1, true)), deep) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

/** A weight for each sign and each dense value: [B, 1]. */
function firstOrder(slots: readonly nn.SparseSlot[], dense: Tensor): Tensor {
  const weights = nn.embedding(slots, { name: 'embedding_one', dim: 1 })
  return add(sum(weights, 1, true), nn.linear(dense, { name: 'dense_one', out: 1 }))
}
