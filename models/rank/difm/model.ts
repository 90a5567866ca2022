/** @file DIFM: a factorization machine whose features count as much as the sample they are in makes them. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, mean, mul, relu, reshape, sigmoid, sum, type Tensor, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(3).default(27),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_000_001),
    sparse_feature_dim: z.int().positive().default(9),
    dense_input_dim: z.int().positive().default(13),
    /** Columns of a head. */
    att_factor_dim: z.int().positive().default(80),
    att_head_num: z.int().positive().default(16),
    fc_sizes: z.array(z.int().positive()).min(1).default([400, 400, 400]),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, dense_input_dim, fc_sizes, ...hyper }) {
    const init = { kind: 'uniform', low: -0.05, high: 0.05 } as const
    const rows = reshape(nn.embedding(slots, { name: 'embedding', dim, init }), [-1, slots.length, dim])
    const own = click.builder.parameter({ name: 'dense_vectors', shape: [dense_input_dim, dim], init })
    const vectors = concat([rows, mul(unsqueeze(dense, 2), own)], 1) // [B, slots + dense values, dim]
    const [fields, heads] = [slots.length + dense_input_dim, hyper.att_head_num]
    const out = hyper.att_factor_dim * heads
    const attention = new nn.SelfAttention({ in: dim, out, heads, bias: false, project: false }).named('attention')
    const residual = nn.linear(vectors, { name: 'residual', out, biasInit: false })
    const mixed = relu(add(attention.forward(vectors), residual)) // [B, fields, out]
    const byVector = toFields(reshape(mixed, [-1, fields * out]), 'vector_out', fields)
    const deep = nn.mlp(reshape(vectors, [-1, fields * dim]), { name: 'fc', sizes: fc_sizes, lastActivation: 'relu' })
    const scale = add(byVector, toFields(deep, 'bit_out', fields)) // [B, fields]: how much each field counts

    const ones = nn.embedding(slots, { name: 'embedding_one', dim: 1, init }) // [B, slots]
    const denseOnes = click.builder.parameter({ name: 'dense_one', shape: [dense_input_dim], init })
    const first = sum(mul(concat([ones, mul(dense, denseOnes)], 1), scale), 1, true)
    const bias = click.builder.parameter({ name: 'bias', shape: [1], init: { kind: 'zeros' } })
    const logit = add(add(first, nn.pairwiseSum(mul(vectors, unsqueeze(scale, 2)))), bias) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

function toFields(x: Tensor, name: string, fields: number): Tensor {
  return nn.linear(x, { name, out: fields, biasInit: false })
}
