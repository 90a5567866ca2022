/** @file PPNet: every hidden layer is scaled by gates that know who the user and what the item is. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, mul, sigmoid, stopGradient } from 'oarfish/nn'

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
      /** The label and the sparse slots, as PaddleRec counts them. */
      sparse_inputs_slots: z.int().min(2).default(27),
      sparse_feature_dim: z.int().positive().default(10),
      dense_input_dim: z.int().positive().default(13),
      fc_sizes: z.array(z.int().positive()).min(1).default([512, 256, 128]),
      /** Numbers of the slots that say who and what it is: user, item, author. */
      prior_slots: z.array(z.int().positive()).min(1).default([1, 2, 3]),
      /** Columns between a gate's two layers. */
      gate_size: z.int().positive().default(64),
    })
    .refine(({ prior_slots, sparse_inputs_slots }) => prior_slots.every((slot) => slot < sparse_inputs_slots), {
      path: ['prior_slots'],
      error: 'expected numbers of sparse slots, which are below sparse_inputs_slots',
    }),

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  /** Gates also see what they scale, but teach it nothing: only the prior's own rows learn through them. */
  net({ click, slots, dense }, { sparse_feature_dim: dim, prior_slots, fc_sizes, gate_size: hidden }) {
    const x = concat([nn.embedding(slots, { name: 'embedding', dim }), dense], 1)
    const own = prior_slots.map((slot) => slots[slot - 1]!)
    const prior = concat([nn.embedding(own, { name: 'prior', dim }), stopGradient(x)], 1)
    const gated = fc_sizes.reduce((input, out, i) => {
      const gate = new nn.GateUnit({ in: Number(prior.shape[1]), out, hidden }).named(`gate_${i}`)
      return mul(nn.linear(input, { name: `fc.${i}`, out, activation: 'relu' }), gate.forward(prior))
    }, x)
    const logit = nn.linear(gated, { name: 'logit', out: 1 }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
