/** @file MaskNet: hidden layers are multiplied with masks that each sample's features make. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, mul, reshape, sigmoid, type Tensor, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(2).default(27),
    sparse_feature_dim: z.int().positive().default(10),
    dense_input_dim: z.int().positive().default(13),
    /** Blocks one after the other, each masking what the one before gave; or side by side on the features. */
    model_type: z.enum(['serial', 'parallel']).default('serial'),
    /** Side by side: how many blocks of how many columns. */
    block_num: z.int().positive().default(3),
    block_dim: z.int().positive().default(64),
    /** One after the other: columns of each block. Side by side: layers on top of the blocks. */
    fc_sizes: z.array(z.int().positive()).min(1).default([400, 400, 400]),
    /** The mask's inner layer has so many times the columns of what it masks. */
    reduction_ratio: z.number().positive().default(1),
    dropout_rate: z.number().min(0).lt(1).default(0),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  /** A dense value is a feature too: its vector is scaled by the value. */
  net({ click, slots, dense }, { sparse_feature_dim: dim, dense_input_dim, fc_sizes, ...hyper }) {
    const rows = reshape(nn.embedding(slots, { name: 'embedding', dim }), [-1, slots.length, dim])
    const init = { kind: 'uniform', low: -0.05, high: 0.05 } as const
    const denseVectors = dense.builder.parameter({ name: 'dense_vectors', shape: [dense_input_dim, dim], init })
    const fields = slots.length + dense_input_dim
    const vectors = concat([rows, mul(unsqueeze(dense, 2), denseVectors)], 1) // [B, fields, dim]
    const features = reshape(vectors, [-1, fields * dim])
    const normed = reshape(nn.fieldNorm(vectors, { name: 'norm' }), [-1, fields * dim])

    const block = (x: Tensor, out: number, i: number) => {
      const options = { features: fields * dim, in: Number(x.shape[1]), out, reduction: hyper.reduction_ratio }
      const masked = new nn.MaskBlock(options).named(`block_${i}`).forward(features, x)
      return nn.dropout(masked, { name: `dropout_${i}`, rate: hyper.dropout_rate })
    }
    const top =
      hyper.model_type === 'serial'
        ? fc_sizes.reduce(block, normed)
        : nn.mlp(
            concat(
              Array.from({ length: hyper.block_num }, (_, i) => block(normed, hyper.block_dim, i)),
              1,
            ),
            {
              name: 'fc',
              sizes: fc_sizes,
              lastActivation: 'relu',
            },
          )
    const logit = nn.linear(top, { name: 'logit', out: 1 }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
