/** @file xDeepFM: crosses of whole vectors by a compressed interaction network, beside a deep network and a linear part. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, mean, mul, reshape, sigmoid, sum, unsqueeze } from 'oarfish/nn'

/** On the weights of the interaction network and of the deep one, as in PaddleRec. */
const L2 = 0.0001

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(2).default(27),
    /** Kept for PaddleRec's sake, as fc_sizes: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_000_001),
    sparse_feature_dim: z.int().positive().default(9),
    dense_input_dim: z.int().positive().default(13),
    fc_sizes: z.array(z.int().positive()).default([512, 256, 128, 32]),
    layer_sizes_dnn: z.array(z.int().positive()).min(1).default([512, 256, 128]),
    /** Vectors of each layer of the interaction network. */
    layer_sizes_cin: z.array(z.int().positive()).min(1).default([128, 32]),
    distributed_embedding: z.int().min(0).max(1).default(0),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  /** A dense value is a feature too: its vector is scaled by the value. */
  net({ click, slots, dense }, { sparse_feature_dim: dim, dense_input_dim, layer_sizes_cin: sizes, ...hyper }) {
    const init = { kind: 'truncated_normal', mean: 0, std: 0.1 / Math.sqrt(dim) } as const
    const weights = nn.embedding(slots, { name: 'embedding_one', dim: 1, init }) // [B, slots]
    const linear = add(sum(weights, 1, true), nn.linear(dense, { name: 'dense_one', out: 1 }))

    const rows = reshape(nn.embedding(slots, { name: 'embedding', dim, init }), [-1, slots.length, dim])
    const denseVectors = dense.builder.parameter({ name: 'dense_vectors', shape: [dense_input_dim, dim], init })
    const vectors = concat([rows, mul(unsqueeze(dense, 2), denseVectors)], 1) // [B, fields, dim]
    const fields = slots.length + dense_input_dim

    const cin = new nn.Cin({ fields, sizes, init: { kind: 'lecun_normal' }, l2: L2 }).named('cin')
    const crossed = nn.linear(cin.forward(vectors), { name: 'cin_fc', out: 1, l2: L2 })
    const deep = nn.mlp(reshape(vectors, [-1, fields * dim]), {
      name: 'dnn',
      sizes: [...hyper.layer_sizes_dnn, 1],
      init: { kind: 'lecun_normal' },
      l2: L2,
    })
    const logit = add(add(linear, crossed), deep) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
