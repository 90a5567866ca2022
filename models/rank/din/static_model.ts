/** @file The static-graph model: inputs, loss and metrics around net.ts. */
import { type Feeds, mean, metric, type NetOutput, nn, optimizer, sigmoid, type Tensor, z } from 'oarfish'
import { Din, type DinInputs } from './net.ts'

export const hyperParameters = z.strictObject({
  optimizer: z
    .strictObject({
      class: z.enum(['SGD', 'sgd']).default('SGD'),
      /** The rate of the first 410,000 steps; 0.2 after them. */
      learning_rate_base_lr: z.number().positive().default(0.85),
      /** Kept for PaddleRec's sake: runner.sync_mode decides. */
      strategy: z.string().default('async'),
    })
    .prefault({}),
  item_emb_size: z.int().positive().default(64),
  cat_emb_size: z.int().positive().default(64),
  /** Hidden layers of the attention and of the network on top of it. */
  fc_sizes: z.array(z.int().positive()).min(1).default([80, 40]),
  act: z.enum(['sigmoid', 'relu', 'tanh']).default('sigmoid'),
  /** Kept for PaddleRec's sake, as the next four: rows live in tables of no fixed size, and any reader will do. */
  is_sparse: z.boolean().default(false),
  use_DataLoader: z.boolean().default(true),
  item_count: z.int().positive().default(63_001),
  cat_count: z.int().positive().default(801),
  distributed_embedding: z.int().min(0).max(1).default(0),
})

export interface Inputs extends DinInputs {
  readonly label: Tensor
}

const DECAY = { after: 410_000, rate: 0.2 }

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ sparse, label }: Feeds): Inputs {
    return {
      historyItems: sparse('hist_item_seq'),
      historyCategories: sparse('hist_cat_seq'),
      item: sparse('target_item'),
      category: sparse('target_cat'),
      label: label('label'),
    }
  }

  net(inputs: Inputs): NetOutput {
    return forward(createNet(this.#hyper), inputs)
  }

  createOptimizer() {
    const learningRate = this.#hyper.optimizer.learning_rate_base_lr
    const values = [learningRate, DECAY.rate]
    return optimizer.sgd({ learningRate, schedule: { kind: 'piecewise', boundaries: [DECAY.after], values } })
  }
}

export function forward(model: Din, { label, ...inputs }: Inputs): NetOutput {
  const logit = model.forward(inputs)
  const predict = sigmoid(logit)
  return {
    loss: mean(nn.sigmoidCrossEntropy(logit, label)),
    metrics: { auc: metric.auc(predict, label) },
    outputs: { predict },
  }
}

export function createNet({ item_emb_size, cat_emb_size, fc_sizes, act }: z.infer<typeof hyperParameters>): Din {
  return new Din({ itemDim: item_emb_size, categoryDim: cat_emb_size, layerSizes: fc_sizes, activation: act })
}
