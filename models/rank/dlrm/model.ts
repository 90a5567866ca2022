/** @file DLRM: dense values become one more vector, and all vectors are compared in pairs. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, relu, reshape, slice, softmax, type Tensor, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('SGD', { learning_rate: z.number().positive().default(0.1) }),
      /** The label and the sparse slots, as PaddleRec counts them. */
      sparse_inputs_slots: z.int().min(2).default(27),
      dense_input_dim: z.int().positive().default(13),
      /** From dense values to a vector: the last is as long as a row. */
      bot_layer_sizes: z.array(z.int().positive()).min(1).default([512, 256, 64, 16]),
      /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
      sparse_feature_number: z.int().positive().default(1_000_001),
      sparse_feature_dim: z.int().positive().default(16),
      /** From products to the two classes. */
      top_layer_sizes: z.array(z.int().positive()).min(1).default([512, 256, 2]),
      /** The sparse slots once more. */
      num_field: z.int().positive().default(26),
      /** Batch norm after each hidden layer, as PaddleRec has it; the paper has none. */
      use_bn: z.boolean().default(true),
    })
    .refine(({ bot_layer_sizes, sparse_feature_dim: dim }) => bot_layer_sizes.at(-1) === dim, {
      path: ['bot_layer_sizes'],
      error: 'expected the last size to be sparse_feature_dim: dense values become a vector beside the rows',
    })
    .refine(({ top_layer_sizes }) => top_layer_sizes.at(-1) === 2, {
      path: ['top_layer_sizes'],
      error: 'expected the last size to be 2: clicked or not',
    }),

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, bot_layer_sizes, top_layer_sizes, use_bn }) {
    const init = { kind: 'truncated_normal', mean: 0, std: 1 / Math.sqrt(dim) } as const
    const bottom = hidden(dense, bot_layer_sizes, 'bottom', use_bn) // [B, dim]
    const rows = reshape(nn.embedding(slots, { name: 'embedding', dim, init }), [-1, slots.length, dim])
    const products = nn.pairwiseDots(concat([rows, unsqueeze(bottom, 1)], 1)) // [B, pairs]
    const top = hidden(concat([bottom, products], 1), top_layer_sizes.slice(0, -1), 'top', use_bn)
    const logits = nn.linear(top, { name: 'out', out: 2, init: { kind: 'lecun_normal' } }) // [B, 2]
    const predict = slice(softmax(logits), 1, 1) // the second class
    return { loss: mean(nn.softmaxCrossEntropy(logits, click)), outputs: { predict } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.sgd({ learningRate: hyper.optimizer.learning_rate }),
})

/** Linear layers with ReLU, and batch norm after it where it is wanted. */
function hidden(x: Tensor, sizes: readonly number[], name: string, isNormed: boolean): Tensor {
  return sizes.reduce((input, out, i) => {
    const y = relu(nn.linear(input, { name: `${name}.${i}`, out, init: { kind: 'lecun_normal' } }))
    return isNormed ? nn.batchNorm(y, { name: `${name}.norm_${i}` }) : y
  }, x)
}
