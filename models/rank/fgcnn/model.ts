/** @file FGCNN: convolutions over neighbouring fields make new features beside the raw ones. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, reshape, sigmoid, type Tensor, tanh, transpose } from 'oarfish/nn'

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
      /** The label and the sparse slots, as PaddleRec counts them. */
      sparse_inputs_slots: z.int().min(3).default(27),
      /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
      sparse_feature_number: z.int().positive().default(1_000_001),
      sparse_feature_dim: z.int().positive().default(9),
      dense_input_dim: z.int().positive().default(13),
      /** Of each convolution: channels, fields that it sees, fields that the pooling joins, and new features a field that is left. */
      filters: z.array(z.int().positive()).min(1).default([14, 16, 18, 20]),
      kernel: z.array(z.int().positive()).min(1).default([7, 7, 7, 7]),
      pooling: z.array(z.int().positive()).min(1).default([2, 2, 2, 2]),
      new_filters: z.array(z.int().positive()).min(1).default([3, 3, 3, 3]),
      fc_sizes: z.array(z.int().positive()).min(1).default([400, 400, 400]),
    })
    .refine(
      ({ filters, kernel, pooling, new_filters }) =>
        [kernel, pooling, new_filters].every(({ length }) => length === filters.length),
      {
        path: ['filters'],
        error: 'expected as many numbers as kernel, pooling and new_filters have: one of each a convolution',
      },
    ),

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, fc_sizes, ...hyper }) {
    const fields = (name: string) => reshape(nn.embedding(slots, { name, dim }), [-1, slots.length, dim])
    // Rows of their own for the convolutions: what makes new features does not disturb the raw ones.
    const both = concat([fields('embedding'), ...newFeatures(fields('embedding_fg'), dim, hyper)], 1)
    const flat = reshape(both, [-1, Number(both.shape[1]) * dim])
    const x = concat([flat, nn.pairwiseDots(both), dense], 1)
    const logit = nn.mlp(x, { name: 'fc', sizes: [...fc_sizes, 1] }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

interface Convolutions {
  readonly filters: readonly number[]
  readonly kernel: readonly number[]
  readonly pooling: readonly number[]
  readonly new_filters: readonly number[]
}

/** The convolution runs along the fields, in each of the dim columns by itself: these count as samples. */
function newFeatures(vectors: Tensor, dim: number, { filters, kernel, pooling, new_filters }: Convolutions): Tensor[] {
  let image = reshape(transpose(vectors, [0, 2, 1]), [-1, vectors.shape[1]!, 1]) // [B * dim, fields, channels]
  return filters.map((out, i) => {
    const convolved = tanh(nn.conv1d(image, { name: `conv_${i}`, out, kernel: kernel[i]! }))
    image = nn.maxPool1d(convolved, { size: pooling[i]! })
    const fields = Number(image.shape[1])
    const byField = transpose(reshape(image, [-1, dim, fields, out]), [0, 2, 3, 1]) // [B, fields, channels, dim]
    const made = nn.linear(reshape(byField, [-1, fields * out * dim]), {
      name: `recombine_${i}`,
      out: fields * new_filters[i]! * dim,
      activation: 'tanh',
    })
    return reshape(made, [-1, fields * new_filters[i]!, dim])
  })
}
