/** @file DCN: explicit crosses of features, a vector a layer, beside a deep network. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, relu, sigmoid, type Tensor } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.0001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(2).default(27),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_000_001),
    sparse_feature_dim: z.int().positive().default(9),
    dense_input_dim: z.int().positive().default(13),
    fc_sizes: z.array(z.int().positive()).min(1).default([512, 256, 128]),
    cross_num: z.int().positive().default(2),
    /** L2 penalty on the cross network's weights. */
    l2_reg_cross: z.number().min(0).default(0.00005),
    dnn_use_bn: z.boolean().default(false),
    /** Gradients together are held to this norm. */
    clip_by_norm: z.number().positive().default(100),
    is_sparse: z.boolean().default(false),
    distributed_embedding: z.int().min(0).max(1).default(0),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, dense_input_dim, fc_sizes, dnn_use_bn, ...hyper }) {
    const init = { kind: 'truncated_normal', mean: 0, std: 0.1 / Math.sqrt(dim) } as const
    const x = concat([nn.embedding(slots, { name: 'embedding', dim, init }), dense], 1) // [B, slots * dim + dense]
    const width = slots.length * dim + dense_input_dim
    const cross = new nn.CrossNetVector({ width, layers: hyper.cross_num, l2: hyper.l2_reg_cross }).named('cross')
    const top = concat([deep(x, fc_sizes, dnn_use_bn), cross.forward(x)], 1)
    const logit = nn.linear(top, { name: 'fc', out: 1, init: { kind: 'lecun_normal' } }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: ({ optimizer: { learning_rate }, clip_by_norm }) =>
    optimizer.adam({ learningRate: learning_rate, lazy: true, clip: { kind: 'global_norm', max: clip_by_norm } }),
})

/** Linear layers with ReLU, and batch norm before it where it is wanted. */
function deep(x: Tensor, sizes: readonly number[], isNormed: boolean): Tensor {
  return sizes.reduce((input, out, i) => {
    const y = nn.linear(input, { name: `dnn.${i}`, out, init: { kind: 'lecun_normal' } })
    return relu(isNormed ? nn.batchNorm(y, { name: `dnn.norm_${i}` }) : y)
  }, x)
}
