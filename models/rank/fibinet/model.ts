/** @file FiBiNET: fields are weighted by squeeze and excite, and pairs of them multiplied through matrices. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, reshape, sigmoid, type Tensor } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(3).default(27),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_000_001),
    sparse_feature_dim: z.int().positive().default(9),
    dense_input_dim: z.int().positive().default(13),
    /** One matrix for all pairs, one a field, or one a pair. */
    bilinear_type: z.enum(['all', 'each', 'interaction']).default('all'),
    reduction_ratio: z.number().positive().default(3),
    dropout_rate: z.number().min(0).lt(1).default(0.5),
    fc_sizes: z.array(z.int().positive()).min(1).default([400, 400, 400]),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim, { aliases: ['dense_var'] }),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, bilinear_type: kind, fc_sizes, ...hyper }) {
    const fields = slots.length
    const vectors = reshape(nn.embedding(slots, { name: 'embedding', dim }), [-1, fields, dim])
    const weighted = new nn.SqueezeExcite({ fields, reduction: hyper.reduction_ratio }).named('senet').forward(vectors)
    const products = (x: Tensor, name: string) => {
      const bilinear = new nn.BilinearInteraction({ fields, dim, kind }).named(name)
      return reshape(bilinear.forward(x), [-1, ((fields * (fields - 1)) / 2) * dim])
    }
    const x = concat([products(weighted, 'senet_bilinear'), products(vectors, 'bilinear'), dense], 1)
    const hidden = fc_sizes.reduce((input, out, i) => {
      const y = nn.linear(input, { name: `fc.${i}`, out, activation: 'relu' })
      return nn.dropout(y, { name: `dropout_${i}`, rate: hyper.dropout_rate })
    }, x)
    const logit = nn.linear(hidden, { name: 'logit', out: 1 }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
