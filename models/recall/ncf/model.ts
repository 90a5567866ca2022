/** @file Neural collaborative filtering: products of a user's and an item's values, a network over both, or the two together. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, mul, sigmoid } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** Kept for PaddleRec's sake, as the next: a table here has no fixed number of rows. */
    num_users: z.int().positive().default(6040),
    num_items: z.int().positive().default(3706),
    mf_dim: z.int().positive().default(8),
    mode: z.enum(['NCF_NeuMF', 'NCF_GMF', 'NCF_MLP']).default('NCF_NeuMF'),
    /** The first is the width of both rows side by side, so it is even. */
    fc_layers: z
      .array(z.int().positive())
      .min(2)
      .refine(([width]) => width! % 2 === 0, 'the first of fc_layers is shared by user and item: give an even number')
      .default([64, 32, 16, 8]),
  },

  inputs: ({ sparse, label }) => ({ user: sparse('user_input'), item: sparse('item_input'), label: label('label') }),

  net({ user, item, label }, { mode, mf_dim, fc_layers: [width, ...sizes] }) {
    const rowsOf = (slot: nn.SparseSlot, name: string, dim: number) =>
      nn.embedding(slot, { name, dim, init: { kind: 'normal', mean: 0, std: 0.01 } })
    /** Generalized matrix factorization: the product of both rows, value by value. */
    const gmf = () => mul(rowsOf(user, 'mf.user', mf_dim), rowsOf(item, 'mf.item', mf_dim))
    /** Fully connected layers over both rows side by side. */
    const mlp = () => {
      const rows = [rowsOf(user, 'mlp.user', width! / 2), rowsOf(item, 'mlp.item', width! / 2)]
      return nn.mlp(concat(rows, 1), { name: 'mlp.fc', sizes, lastActivation: 'relu', init: { kind: 'lecun_normal' } })
    }
    const parts = [...(mode === 'NCF_MLP' ? [] : [gmf()]), ...(mode === 'NCF_GMF' ? [] : [mlp()])]
    const logit = nn.linear(concat(parts, 1), { name: 'prediction', out: 1 }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, label)), outputs: { prediction: sigmoid(logit) } }
  },

  metrics: ({ outputs: { prediction } }, { label }) => ({ auc: metric.auc(prediction, label) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
