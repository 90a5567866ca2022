/** @file The static-graph model: inputs, loss and metrics around net.ts. */
import { type Feeds, mean, metric, type NetOutput, nn, optimizer, sigmoid, type Tensor, z } from 'oarfish'
import { MODES, Ncf } from './net.ts'

export const hyperParameters = z.strictObject({
  optimizer: z
    .strictObject({
      class: z.enum(['adam', 'Adam']).default('adam'),
      learning_rate: z.number().positive().default(0.001),
      /** Kept for PaddleRec's sake: runner.sync_mode decides. */
      strategy: z.string().default('async'),
    })
    .prefault({}),
  /** Kept for PaddleRec's sake, as the next: a table here has no fixed number of rows. */
  num_users: z.int().positive().default(6040),
  num_items: z.int().positive().default(3706),
  mf_dim: z.int().positive().default(8),
  mode: z.enum(MODES).default('NCF_NeuMF'),
  /** The first is the width of both rows side by side, so it is even. */
  fc_layers: z
    .array(z.int().positive())
    .min(2)
    .refine(([width]) => width! % 2 === 0, 'the first of fc_layers is shared by user and item: give an even number')
    .default([64, 32, 16, 8]),
})

export interface Inputs {
  readonly user: nn.SparseSlot
  readonly item: nn.SparseSlot
  readonly label: Tensor
}

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ sparse, label }: Feeds): Inputs {
    return { user: sparse('user_input'), item: sparse('item_input'), label: label('label') }
  }

  net(inputs: Inputs): NetOutput {
    return forward(createNet(this.#hyper), inputs)
  }

  createOptimizer() {
    return optimizer.adam({ learningRate: this.#hyper.optimizer.learning_rate, lazy: true })
  }
}

export function forward(model: Ncf, { user, item, label }: Inputs): NetOutput {
  const logit = model.forward(user, item)
  const prediction = sigmoid(logit)
  return {
    loss: mean(nn.sigmoidCrossEntropy(logit, label)),
    metrics: { auc: metric.auc(prediction, label) },
    outputs: { prediction },
  }
}

export function createNet({ mode, mf_dim, fc_layers }: z.infer<typeof hyperParameters>): Ncf {
  return new Ncf({ mode, factors: mf_dim, layerSizes: fc_layers })
}
