/** @file The dynamic-graph model: the net of static_model.ts, traced anew for every batch. */
import { type Feeds, metric, type NetOutput, type z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { mean, softmax } from 'oarfish/nn'
import type { Dnn } from './net.ts'
import { createNet, hyperParameters, type Inputs, StaticModel } from './static_model.ts'

export { hyperParameters }

export class DygraphModel {
  readonly #hyper: z.infer<typeof hyperParameters>
  readonly #static: StaticModel

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
    this.#static = new StaticModel(hyper)
  }

  createFeeds(feeds: Feeds): Inputs {
    return this.#static.createFeeds(feeds)
  }

  createModel(): Dnn {
    return createNet(this.#hyper)
  }

  createOptimizer() {
    return this.#static.createOptimizer()
  }

  createMetrics() {
    return { auc: 'auc' } as const
  }

  trainForward(model: Dnn, { click, slots, dense }: Inputs): NetOutput {
    const logits = model.forward(slots, dense)
    return {
      loss: mean(nn.softmaxCrossEntropy(logits, click)),
      metrics: { auc: metric.auc(softmax(logits), click) },
    }
  }

  inferForward(model: Dnn, inputs: Inputs): NetOutput {
    return this.trainForward(model, inputs)
  }
}
