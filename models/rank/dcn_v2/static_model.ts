/** @file The static-graph model: inputs, loss and metrics around net.ts. */
import { type Feeds, mean, metric, type NetOutput, nn, optimizer, sigmoid, type Tensor, z } from 'oarfish'
import { DcnV2 } from './net.ts'

export const hyperParameters = z.strictObject({
  optimizer: z
    .strictObject({
      class: z.literal('Adam').default('Adam'),
      learning_rate: z.number().positive().default(0.001),
      /** Kept for PaddleRec's sake: runner.sync_mode decides. */
      strategy: z.string().default('async'),
    })
    .prefault({}),
  /** The label and the sparse slots, as PaddleRec counts them. */
  sparse_inputs_slots: z.int().min(2).default(27),
  /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
  sparse_feature_number: z.int().positive().default(1_100_001),
  sparse_feature_dim: z.int().positive().default(40),
  dense_input_dim: z.int().positive().default(13),
  is_Stacked: z.boolean().default(true),
  use_low_rank_mixture: z.boolean().default(true),
  low_rank: z.int().positive().default(256),
  num_experts: z.int().positive().default(4),
  fc_sizes: z.array(z.int().positive()).min(1).default([768, 768]),
  cross_num: z.int().positive().default(2),
  l2_reg_cross: z.number().min(0).default(0.00003),
  dnn_use_bn: z.boolean().default(false),
  dropout_rate: z.number().min(0).lt(1).default(0.5),
  /** Gradients together are held to this norm. */
  clip_by_norm: z.number().positive().default(10),
  distributed_embedding: z.int().min(0).max(1).default(0),
})

export interface Inputs {
  readonly click: Tensor
  readonly slots: readonly nn.SparseSlot[]
  readonly dense: Tensor
}

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ label, sparse, dense }: Feeds): Inputs {
    const { sparse_inputs_slots, dense_input_dim } = this.#hyper
    return {
      click: label('click'),
      slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
      dense: dense('dense_feature', dense_input_dim),
    }
  }

  net(inputs: Inputs): NetOutput {
    return forward(createNet(this.#hyper), inputs)
  }

  createOptimizer() {
    const { optimizer: own, clip_by_norm } = this.#hyper
    const clip = { kind: 'global_norm', max: clip_by_norm } as const
    return optimizer.adam({ learningRate: own.learning_rate, lazy: true, clip })
  }
}

export function forward(model: DcnV2, { click, slots, dense }: Inputs): NetOutput {
  const logit = model.forward(slots, dense)
  const predict = sigmoid(logit)
  return {
    loss: mean(nn.sigmoidCrossEntropy(logit, click)),
    metrics: { auc: metric.auc(predict, click) },
    outputs: { predict },
  }
}

export function createNet(hyper: z.infer<typeof hyperParameters>): DcnV2 {
  return new DcnV2({
    slots: hyper.sparse_inputs_slots - 1,
    denseWidth: hyper.dense_input_dim,
    embeddingDim: hyper.sparse_feature_dim,
    layerSizes: hyper.fc_sizes,
    crossLayers: hyper.cross_num,
    stacked: hyper.is_Stacked,
    mixture: hyper.use_low_rank_mixture ? { lowRank: hyper.low_rank, experts: hyper.num_experts } : undefined,
    dropoutRate: hyper.dropout_rate,
    batchNorm: hyper.dnn_use_bn,
    crossL2: hyper.l2_reg_cross,
  })
}
