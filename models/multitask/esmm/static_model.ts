/** @file The static-graph model: inputs, losses and metrics of two tasks around net.ts. */
import { add, type Feeds, mean, metric, type NetOutput, nn, optimizer, type Tensor, z } from 'oarfish'
import { Esmm } from './net.ts'

const sizes = z.array(z.int().positive()).min(1).default([256, 64])

export const hyperParameters = z.strictObject({
  optimizer: z
    .strictObject({
      class: z.enum(['adam', 'Adam']).default('adam'),
      learning_rate: z.number().positive().default(0.001),
      /** Kept for PaddleRec's sake: runner.sync_mode decides. */
      strategy: z.string().default('async'),
    })
    .prefault({}),
  /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
  sparse_feature_number: z.int().positive().default(737_946),
  sparse_feature_dim: z.int().positive().default(12),
  num_field: z.int().positive().default(23),
  ctr_fc_sizes: sizes,
  cvr_fc_sizes: sizes,
  /** Values of a field that esmm_reader.ts keeps. */
  max_len: z.int().positive().default(3),
})

export interface Inputs {
  readonly fields: readonly nn.SparseSlot[]
  readonly click: Tensor
  readonly buy: Tensor
}

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ sparse, label }: Feeds): Inputs {
    return {
      fields: Array.from({ length: this.#hyper.num_field }, (_, i) => sparse(`field_${i}`)),
      click: label('ctr'),
      buy: label('cvr'),
    }
  }

  net(inputs: Inputs): NetOutput {
    return forward(createNet(this.#hyper), inputs)
  }

  createOptimizer() {
    return optimizer.adam({ learningRate: this.#hyper.optimizer.learning_rate, lazy: true })
  }
}

/** Conversions are counted over all impressions, so that no sample is left out: the loss has no term for the rate after a click. */
export function forward(model: Esmm, { fields, click, buy }: Inputs): NetOutput {
  const { ctr, cvr, ctcvr } = model.forward(fields)
  return {
    loss: mean(add(nn.logLoss(ctr, click), nn.logLoss(ctcvr, buy))),
    metrics: { auc_ctr: metric.auc(ctr, click), auc_ctcvr: metric.auc(ctcvr, buy) },
    outputs: { pred_ctcvr: ctcvr, pred_ctr: ctr, pred_cvr: cvr },
  }
}

export function createNet(hyper: z.infer<typeof hyperParameters>): Esmm {
  return new Esmm({
    fields: hyper.num_field,
    embeddingDim: hyper.sparse_feature_dim,
    ctrSizes: hyper.ctr_fc_sizes,
    cvrSizes: hyper.cvr_fc_sizes,
  })
}
