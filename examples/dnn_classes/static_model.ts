/** @file models/rank/dnn as the class StaticModel, part by part as PaddleRec's static_model.py: inputs, loss and metrics around net.ts. */
import { type Feeds, metric, type NetOutput, optimizer, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { mean, softmax, type Tensor } from 'oarfish/nn'
import { Dnn } from './net.ts'

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
  sparse_feature_number: z.int().positive().default(1_000_001),
  sparse_feature_dim: z.int().positive().default(9),
  dense_input_dim: z.int().positive().default(13),
  fc_sizes: z.array(z.int().positive()).min(1).default([512, 256, 128, 32]),
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
      // Configs of PaddleRec 1.x call it dense_var, though the data does not.
      dense: dense('dense_feature', dense_input_dim, { aliases: ['dense_var'] }),
    }
  }

  net({ click, slots, dense }: Inputs): NetOutput {
    const logits = createNet(this.#hyper).forward(slots, dense)
    const predict = softmax(logits)
    return {
      loss: mean(nn.softmaxCrossEntropy(logits, click)),
      metrics: { auc: metric.auc(predict, click) },
      outputs: { predict },
    }
  }

  createOptimizer() {
    return optimizer.adam({ learningRate: this.#hyper.optimizer.learning_rate, lazy: true })
  }
}

export function createNet({
  sparse_inputs_slots,
  dense_input_dim,
  sparse_feature_dim,
  fc_sizes,
}: z.infer<typeof hyperParameters>): Dnn {
  return new Dnn({
    slots: sparse_inputs_slots - 1,
    denseWidth: dense_input_dim,
    embeddingDim: sparse_feature_dim,
    layerSizes: fc_sizes,
  })
}
