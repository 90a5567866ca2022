/** @file ESCM2: conversion rates over all impressions, freed of the bias that only clicked ones can convert. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import {
  add,
  cast,
  div,
  maximum,
  mean,
  mul,
  sigmoid,
  softplus,
  square,
  stopGradient,
  sub,
  type Tensor,
} from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(737_946),
    sparse_feature_dim: z.int().positive().default(12),
    num_field: z.int().positive().default(23),
    fc_sizes: z.array(z.int().positive()).min(1).default([256, 64]),
    /** `IPS` weights clicked samples by 1 / their click rate; `DR` adds a tower that guesses the error where nobody clicked. */
    counterfact_mode: z.enum(['IPS', 'DR']).default('DR'),
    /** How much the weighted error counts, and that of the rate over all impressions. */
    counterfactual_weight: z.number().min(0).default(0.1),
    global_weight: z.number().min(0).default(1),
    /** Click rates below this weigh as if they were this. */
    propensity_floor: z.number().positive().default(0.01),
    /** Values of a field that esmm_reader.ts keeps. */
    max_len: z.int().positive().default(3),
  },

  inputs: ({ sparse, label }, { num_field }) => ({
    fields: Array.from({ length: num_field }, (_, i) => sparse(`field_${i}`)),
    click: label('ctr'),
    buy: label('cvr'),
  }),

  net({ fields, click, buy }, { sparse_feature_dim: dim, fc_sizes, ...hyper }) {
    const rows = nn.embedding(fields, { name: 'embedding', dim })
    const tower = (name: string) => nn.mlp(rows, { name, sizes: [...fc_sizes, 1] }) // [B, 1]
    const [ctr, cvr] = [sigmoid(tower('ctr')), sigmoid(tower('cvr'))]
    const ctcvr = mul(ctr, cvr)
    const error = nn.logLoss(cvr, buy)
    const weight = div(cast(click, 'float32'), maximum(stopGradient(ctr), hyper.propensity_floor)) // 0 where nobody clicked
    const causal =
      hyper.counterfact_mode === 'IPS'
        ? mean(mul(weight, error))
        : doublyRobust(error, softplus(tower('imputation')), weight)
    const [first, whole] = [mean(nn.logLoss(ctr, click)), mean(nn.logLoss(ctcvr, buy))]
    return {
      loss: add(add(first, mul(causal, hyper.counterfactual_weight)), mul(whole, hyper.global_weight)),
      outputs: { pred_ctcvr: ctcvr, pred_ctr: ctr, pred_cvr: cvr },
    }
  },

  metrics: ({ outputs: { pred_ctr, pred_ctcvr } }, { click, buy }) => ({
    auc_ctr: metric.auc(pred_ctr, click),
    auc_ctcvr: metric.auc(pred_ctcvr, buy),
  }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

/** The guessed error, corrected where it is known; and how far off the guess is there, so that it learns. */
function doublyRobust(error: Tensor, guess: Tensor, weight: Tensor): Tensor {
  const off = sub(error, guess)
  return add(mean(add(guess, mul(weight, off))), mean(mul(weight, square(off))))
}
