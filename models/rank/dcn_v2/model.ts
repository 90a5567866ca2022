/** @file DCN-V2: explicit interactions of bounded degree by a cross network, beside or below a deep one. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, relu, sigmoid, type Tensor } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(2).default(27),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_100_001),
    sparse_feature_dim: z.int().positive().default(40),
    dense_input_dim: z.int().positive().default(13),
    /** The deep network on top of the cross network, rather than both side by side. */
    is_Stacked: z.boolean().default(true),
    /** Low-rank experts instead of one whole matrix a layer of the cross network. */
    use_low_rank_mixture: z.boolean().default(true),
    low_rank: z.int().positive().default(256),
    num_experts: z.int().positive().default(4),
    fc_sizes: z.array(z.int().positive()).min(1).default([768, 768]),
    cross_num: z.int().positive().default(2),
    /** L2 penalty on the cross network's weights. */
    l2_reg_cross: z.number().min(0).default(0.00003),
    dnn_use_bn: z.boolean().default(false),
    dropout_rate: z.number().min(0).lt(1).default(0.5),
    /** Gradients together are held to this norm. */
    clip_by_norm: z.number().positive().default(10),
    distributed_embedding: z.int().min(0).max(1).default(0),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, dense_input_dim, is_Stacked, ...hyper }) {
    const init = { kind: 'truncated_normal', mean: 0, std: 0.1 / Math.sqrt(dim) } as const
    const rows = nn.embedding(slots, { name: 'embedding', dim, init })
    const x = concat([rows, nn.linear(dense, { name: 'dense_emb', out: dense_input_dim * dim })], 1)

    const cross = { width: (slots.length + dense_input_dim) * dim, layers: hyper.cross_num, l2: hyper.l2_reg_cross }
    const crossNet = hyper.use_low_rank_mixture
      ? new nn.CrossNetMix({ ...cross, lowRank: hyper.low_rank, experts: hyper.num_experts })
      : new nn.CrossNet(cross)
    const crossed = crossNet.named('cross').forward(x)

    const top = is_Stacked ? deep(crossed, hyper) : concat([deep(x, hyper), crossed], 1)
    const logit = nn.linear(top, { name: 'fc', out: 1, init: { kind: 'lecun_normal' } }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: ({ optimizer: { learning_rate }, clip_by_norm }) =>
    optimizer.adam({ learningRate: learning_rate, lazy: true, clip: { kind: 'global_norm', max: clip_by_norm } }),
})

interface DeepOptions {
  readonly fc_sizes: readonly number[]
  readonly dropout_rate: number
  readonly dnn_use_bn: boolean
}

/** Linear layers with ReLU and dropout after each, and batch norm before the ReLU where it is wanted. */
function deep(x: Tensor, { fc_sizes, dropout_rate: rate, dnn_use_bn }: DeepOptions): Tensor {
  return fc_sizes.reduce((input, out, i) => {
    const y = nn.linear(input, { name: `dnn.${i}`, out, init: { kind: 'lecun_normal' }, l2: 1e-7 })
    return nn.dropout(relu(dnn_use_bn ? nn.batchNorm(y, { name: `dnn.norm_${i}` }) : y), {
      name: `dnn.dropout_${i}`,
      rate,
    })
  }, x)
}
