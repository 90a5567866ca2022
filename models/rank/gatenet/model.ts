/** @file GateNet: gates on the rows of each field and on the hidden layers. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, matmul, mean, mul, reshape, sigmoid, tanh, transpose } from 'oarfish/nn'

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

  net({ click, slots, dense }, { sparse_feature_dim: dim, fc_sizes }) {
    const fields = slots.length
    const vectors = reshape(nn.embedding(slots, { name: 'embedding', dim }), [-1, fields, dim])
    const init = { kind: 'normal', mean: 0, std: Math.sqrt(1 / dim) } as const
    const matrices = click.builder.parameter({ name: 'gate.weight', shape: [fields, dim, dim], init }) // one a field
    const gate = sigmoid(transpose(matmul(transpose(vectors, [1, 0, 2]), matrices), [1, 0, 2]))
    const gated = reshape(mul(vectors, gate), [-1, fields * dim])
    const hidden = fc_sizes.reduce(
      (input, out, i) => {
        const x = nn.linear(input, { name: `fc.${i}`, out, activation: 'relu' })
        return mul(x, tanh(nn.linear(x, { name: `hidden_gate_${i}`, out, biasInit: false })))
      },
      concat([gated, dense], 1),
    )
    const logit = nn.linear(hidden, { name: 'out', out: 1 }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
