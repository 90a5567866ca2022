/** @file The model of test/train/tiny.model.ts as a dynamic one: every kind of rows, a shared table, state and random numbers. */
import { type Feeds, metric, type NetOutput, type z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, mul, sigmoid, sum, type Tensor, unsqueeze } from 'oarfish/nn'
import { hyperParameters, StaticModel } from '../train/tiny.model.ts'

export { hyperParameters }

type Hyper = z.infer<typeof hyperParameters>
type Inputs = ReturnType<StaticModel['createFeeds']>

class Tiny extends nn.Layer {
  readonly #pooled: nn.Embedding
  readonly #wide = this.addSublayer('wide', new nn.Embedding({ dim: 1 }))
  readonly #history: nn.SequenceEmbedding
  readonly #norm: nn.BatchNorm | undefined
  readonly #drop = this.addSublayer('drop', new nn.Dropout({ rate: 0.2 }))
  readonly #hidden: nn.Linear
  readonly #out = this.addSublayer('out', new nn.Linear({ in: 8 + 3, out: 1 }))

  constructor({ dim, norm }: Hyper) {
    super()
    const width = 3 * dim + 2
    this.#pooled = this.addSublayer('pooled', new nn.Embedding({ table: 'ids', dim, pooling: 'mean' }))
    this.#history = this.addSublayer('history_rows', new nn.SequenceEmbedding({ table: 'ids', dim }))
    this.#norm = norm ? this.addSublayer('norm', new nn.BatchNorm({ width })) : undefined
    this.#hidden = this.addSublayer('hidden', new nn.Linear({ in: width, out: 8, activation: 'relu' }))
  }

  forward({ user, tags, history, x }: Inputs): Tensor {
    const pooled = this.#pooled.forward([tags, user])
    const wide = this.#wide.forward([user, tags, history])
    const { x: sequence, mask } = this.#history.forward(history)
    const summed = sum(mul(sequence, unsqueeze(mask, 2)), 1)
    const features = concat([pooled, summed, x], 1)
    const input = this.#norm ? this.#drop.forward(this.#norm.forward(features)) : features
    return this.#out.forward(concat([this.#hidden.forward(input), wide], 1))
  }
}

export class DygraphModel {
  readonly #hyper: Hyper

  constructor(hyper: Hyper) {
    this.#hyper = hyper
  }

  createFeeds(feeds: Feeds): Inputs {
    return new StaticModel(this.#hyper).createFeeds(feeds)
  }

  createModel(): Tiny {
    return new Tiny(this.#hyper)
  }

  createOptimizer() {
    return new StaticModel(this.#hyper).createOptimizer()
  }

  createMetrics() {
    return { auc: 'auc' } as const
  }

  trainForward(model: Tiny, inputs: Inputs): NetOutput {
    const logit = model.forward(inputs)
    const { click } = inputs
    return {
      loss: mean(nn.sigmoidCrossEntropy(logit, click)),
      metrics: { auc: metric.auc(sigmoid(logit), click) },
    }
  }

  inferForward(model: Tiny, inputs: Inputs): NetOutput {
    return this.trainForward(model, inputs)
  }
}
