/** @file A small model that learns, and beside it a table with one row a sample: each step over a sample moves its row by STEP, so that the table counts. */
import { type Feeds, metric, type NetOutput, optimizer, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, mean, mul, sigmoid, type Tensor } from 'oarfish/nn'

export const hyperParameters = z.strictObject({ dim: z.int().default(3) })

interface Inputs {
  readonly click: Tensor
  readonly sample: nn.SparseSlot
  readonly user: nn.SparseSlot
  readonly item: nn.SparseSlot
  readonly x: Tensor
}

/** How far a row of the table `count` moves each time its sample is trained, whatever the size of its gradient. */
const STEP = 0.5

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ label, sparse, dense }: Feeds): Inputs {
    return {
      click: label('click'),
      sample: sparse('sample'),
      user: sparse('user'),
      item: sparse('item'),
      x: dense('x', 2),
    }
  }

  net({ click, sample, user, item, x }: Inputs): NetOutput {
    const rows = nn.embedding([user, item], { name: 'rows', table: 'ids', dim: this.#hyper.dim })
    const count = nn.embedding([sample], { name: 'count', dim: 1, init: { kind: 'constant', value: 0 } })
    const hidden = nn.linear(concat([rows, x], 1), { name: 'hidden', out: 8, activation: 'relu' })
    const logit = nn.linear(hidden, { name: 'out', out: 1 })
    return {
      loss: add(mean(nn.sigmoidCrossEntropy(logit, click)), mul(mean(count), 0.001)),
      metrics: { auc: metric.auc(sigmoid(logit), click) },
      outputs: { predict: sigmoid(logit) },
    }
  }

  createOptimizer() {
    return {
      dense: optimizer.adam({ learningRate: 0.02, lazy: true }),
      // Remembers nothing: a step is gradient / |gradient|.
      tables: { count: optimizer.rmsprop({ learningRate: STEP, rho: 0, epsilon: 1e-30 }) },
    }
  }
}
