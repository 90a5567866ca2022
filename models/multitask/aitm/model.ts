/** @file AITM: what the tower of a step (click) knows is handed on to the next one (purchase), as much as attention finds useful. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, maximum, mean, mul, sigmoid, softmax, stack, sub, sum, type Tensor, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(737_946),
    sparse_feature_dim: z.int().positive().default(12),
    num_field: z.int().positive().default(23),
    fc_sizes: z.array(z.int().positive()).min(1).default([256, 64]),
    /** How much it costs to call a purchase likelier than the click before it. */
    constraint_weight: z.number().min(0).default(0.6),
    /** Values of a field that esmm_reader.ts keeps. */
    max_len: z.int().positive().default(3),
  },

  inputs: ({ sparse, label }, { num_field }) => ({
    fields: Array.from({ length: num_field }, (_, i) => sparse(`field_${i}`)),
    click: label('ctr'),
    buy: label('cvr'),
  }),

  net({ fields, click, buy }, { sparse_feature_dim: dim, fc_sizes, constraint_weight }) {
    const rows = nn.embedding(fields, { name: 'embedding', dim })
    const tower = (name: string) => nn.mlp(rows, { name, sizes: fc_sizes, lastActivation: 'relu' })
    const [clicks, purchases] = [tower('click_tower'), tower('buy_tower')]
    const info = nn.linear(clicks, { name: 'info', out: fc_sizes.at(-1)!, activation: 'relu' })
    const clicked = nn.linear(clicks, { name: 'click_out', out: 1 }) // [B, 1]
    const bought = nn.linear(transfer(purchases, info, fc_sizes.at(-1)!), { name: 'buy_out', out: 1 })
    const [pClick, pBuy] = [sigmoid(clicked), sigmoid(bought)]
    const errors = add(mean(nn.sigmoidCrossEntropy(clicked, click)), mean(nn.sigmoidCrossEntropy(bought, buy)))
    const tooMuch = mean(maximum(sub(pBuy, pClick), 0))
    return {
      loss: add(errors, mul(tooMuch, constraint_weight)),
      outputs: { pred_purchase: pBuy, pred_click: pClick },
    }
  },

  metrics: ({ outputs: { pred_click, pred_purchase } }, { click, buy }) => ({
    auc_click: metric.auc(pred_click, click),
    auc_purchase: metric.auc(pred_purchase, buy),
  }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

/** Two vectors [B, d], each weighted by how well its own key and query agree. */
function transfer(own: Tensor, info: Tensor, out: number): Tensor {
  const both = stack([own, info], 1) // [B, 2, d]
  const part = (name: string) => nn.linear(both, { name: `transfer.${name}`, out })
  const scores = mul(sum(mul(part('key'), part('query')), 2), 1 / Math.sqrt(out)) // [B, 2]
  return sum(mul(unsqueeze(softmax(scores), 2), part('value')), 1)
}
