/** @file Neural collaborative filtering: products of a user's and an item's values, a network over both, or the two together. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, mul, sigmoid, transpose } from 'oarfish/nn'

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
    /** Fully connected layers over both rows side by side. */
    const mlp = () => {
      const rows = [rowsOf(user, 'mlp.user', width! / 2), rowsOf(item, 'mlp.item', width! / 2)]
      return nn.mlp(concat(rows, 1), { name: 'mlp.fc', sizes, lastActivation: 'relu', init: { kind: 'lecun_normal' } })
    }
    /** Generalized matrix factorization: the product of both rows, value by value. */
    const factors = mode !== 'NCF_MLP' && {
      user: rowsOf(user, 'mf.user', mf_dim),
      item: rowsOf(item, 'mf.item', mf_dim),
    }
    const joined = concat(
      [...(factors ? [mul(factors.user, factors.item)] : []), ...(mode === 'NCF_GMF' ? [] : [mlp()])],
      1,
    )
    const last = new nn.Linear({ in: Number(joined.shape[1]), out: 1 }).named('prediction')
    const logit = last.forward(joined) // [B, 1]
    // Only there is the score an inner product: of the user's row and the item's, weighed.
    const isProduct = factors && mode === 'NCF_GMF'
    const weighed = isProduct && mul(factors.item, transpose(last.weight.on(logit.builder)))
    return {
      loss: mean(nn.sigmoidCrossEntropy(logit, label)),
      outputs: { prediction: sigmoid(logit) },
      vectors: weighed ? { user: factors.user, item: { id: item, vector: weighed } } : undefined,
    }
  },

  metrics: ({ outputs: { prediction } }, { label }) => ({ auc: metric.auc(prediction, label) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
