/** @file ESMM: click and conversion rates over shared rows; what is learned is the product, over all impressions. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, mean, mul, slice, softmax } from 'oarfish/nn'

const sizes = z.array(z.int().positive()).min(1).default([256, 64])

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(737_946),
    sparse_feature_dim: z.int().positive().default(12),
    num_field: z.int().positive().default(23),
    ctr_fc_sizes: sizes,
    cvr_fc_sizes: sizes,
    /** Values of a field that esmm_reader.ts keeps. */
    max_len: z.int().positive().default(3),
  },

  inputs: ({ sparse, label }, { num_field }) => ({
    fields: Array.from({ length: num_field }, (_, i) => sparse(`field_${i}`)),
    click: label('ctr'),
    buy: label('cvr'),
  }),

  /** Conversions are counted over all impressions, so that no sample is left out: the loss has no term for the rate after a click. */
  net({ fields, click, buy }, { sparse_feature_dim: dim, ctr_fc_sizes, cvr_fc_sizes }) {
    const rows = nn.embedding(fields, { name: 'embedding', dim, init: { kind: 'uniform', low: -1, high: 1 } })
    const rate = (name: string, hidden: readonly number[]) => {
      const logits = nn.mlp(rows, { name, sizes: [...hidden, 2], init: { kind: 'lecun_normal' } })
      return slice(softmax(logits), 1, 1) // [B, 1]
    }
    const [ctr, cvr] = [rate('ctr', ctr_fc_sizes), rate('cvr', cvr_fc_sizes)]
    const ctcvr = mul(ctr, cvr) // of a click that converts
    return {
      loss: mean(add(nn.logLoss(ctr, click), nn.logLoss(ctcvr, buy))),
      outputs: { pred_ctcvr: ctcvr, pred_ctr: ctr, pred_cvr: cvr },
    }
  },

  metrics: ({ outputs: { pred_ctr, pred_ctcvr } }, { click, buy }) => ({
    auc_ctr: metric.auc(pred_ctr, click),
    auc_ctcvr: metric.auc(pred_ctcvr, buy),
  }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
