/** @file Logistic regression: one weight per sign, one per dense value, a bias. Reads slots 1, 2, ... and dense_feature, or PaddleRec's pairs of feat_idx and feat_value. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { abs, add, mean, mul, sigmoid, sum } from 'oarfish/nn'

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
      /** Sparse slots and dense values together, as PaddleRec counts them. */
      num_field: z.int().min(2).default(39),
      /** How many of the fields are dense values; the others are the slots 1, 2, ... Unset, as in PaddleRec's configs: each field is a feat_idx and its feat_value. */
      dense_input_dim: z.int().positive().optional(),
      /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
      sparse_feature_number: z.int().positive().default(1_086_460),
      /** L1 penalty on the weights of the signs that a sample has. */
      reg: z.number().min(0).default(0.001),
    })
    .refine(({ num_field, dense_input_dim = 0 }) => num_field > dense_input_dim, {
      path: ['num_field'],
      error: 'expected more fields than dense_input_dim, which are the sparse slots',
    }),

  inputs: ({ label, sparse, dense }, { num_field, dense_input_dim }) =>
    dense_input_dim === undefined
      ? { click: label('label'), slots: [sparse('feat_idx')], dense: dense('feat_value', num_field) }
      : {
          click: label('click'),
          slots: Array.from({ length: num_field - dense_input_dim }, (_, i) => sparse(String(i + 1))),
          dense: dense('dense_feature', dense_input_dim),
        },

  /** The penalty counts in training only, so that losses of an evaluation compare with other models'. */
  net({ click, slots, dense }, { reg, num_field: length, dense_input_dim }, { training }) {
    const init = { kind: 'truncated_normal', mean: 0, std: 0.1 } as const
    const rows = { name: 'embedding', dim: 1, init }
    const isPairs = dense_input_dim === undefined
    const weights = isPairs
      ? sum(nn.sequenceEmbedding(slots[0]!, { ...rows, length }).x, 2) // [B, fields]: one value each, in order
      : nn.embedding(slots, rows) // [B, slots]
    const logit = isPairs
      ? add(
          sum(mul(weights, dense), 1, true),
          dense.builder.parameter({ name: 'bias', shape: [1], init: { kind: 'zeros' } }),
        )
      : add(sum(weights, 1, true), nn.linear(dense, { name: 'linear', out: 1, init })) // [B, 1]
    const cost = mean(nn.sigmoidCrossEntropy(logit, click))
    const l1 = mean(sum(abs(weights), 1))
    return { loss: training ? add(cost, mul(l1, reg)) : cost, outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
