/** @file A small model with every kind of rows (pooled over two slots, a second table, a sequence with a mask) and, on demand, state and random numbers. */
import { type Feeds, metric, type NetOutput, optimizer, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, mul, sigmoid, sum, type Tensor, unsqueeze } from 'oarfish/nn'

export const hyperParameters = z.strictObject({
  dim: z.int().default(3),
  learning_rate: z.number().default(0.05),
  lazy: z.boolean().default(true),
  optimizer: z.enum(['adam', 'adagrad']).default('adam'),
  /** Batch norm, whose statistics are program state, and dropout. */
  norm: z.boolean().default(false),
})

interface Inputs {
  readonly click: Tensor
  readonly user: nn.SparseSlot
  readonly tags: nn.SparseSlot
  readonly history: nn.SparseSlot
  readonly x: Tensor
}

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ label, sparse, dense }: Feeds): Inputs {
    return {
      click: label('click'),
      user: sparse('user'),
      tags: sparse('tags'),
      history: sparse('history'),
      x: dense('x', 2),
    }
  }

  net({ click, user, tags, history, x }: Inputs): NetOutput {
    const { dim, norm } = this.#hyper
    const pooled = nn.embedding([tags, user], { name: 'pooled', table: 'ids', dim, pooling: 'mean' }) // not in declaration order
    const wide = nn.embedding([user, tags, history], { name: 'wide', dim: 1 })
    const { x: sequence, mask } = nn.sequenceEmbedding(history, { name: 'history_rows', table: 'ids', dim })
    const summed = sum(mul(sequence, unsqueeze(mask, 2)), 1) // [B, dim]
    const features = concat([pooled, summed, x], 1)
    const input = norm ? nn.dropout(nn.batchNorm(features, { name: 'norm' }), { name: 'drop', rate: 0.2 }) : features
    const hidden = nn.linear(input, { name: 'hidden', out: 8, activation: 'relu' })
    const logit = nn.linear(concat([hidden, wide], 1), { name: 'out', out: 1 })
    return {
      loss: mean(nn.sigmoidCrossEntropy(logit, click)),
      metrics: { auc: metric.auc(sigmoid(logit), click) },
      outputs: { predict: sigmoid(logit) },
    }
  }

  createOptimizer() {
    const { learning_rate: learningRate, lazy, optimizer: kind } = this.#hyper
    return kind === 'adam' ? optimizer.adam({ learningRate, lazy }) : optimizer.adagrad({ learningRate })
  }
}
