/** @file The dynamic-graph model: the net of static_model.ts, traced anew for every batch. */
import { type Feeds, mean, metric, type NetOutput, nn, sigmoid, type z } from 'oarfish'
import type { WideDeep } from './net.ts'
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

  createModel(): WideDeep {
    return createNet(this.#hyper)
  }

  createOptimizer() {
    return this.#static.createOptimizer()
  }

  createMetrics() {
    return { auc: 'auc' } as const
  }

  trainForward(model: WideDeep, { click, slots, dense }: Inputs): NetOutput {
    const logit = model.forward(slots, dense)
    return {
      loss: mean(nn.sigmoidCrossEntropy(logit, click)),
      metrics: { auc: metric.auc(sigmoid(logit), click) },
    }
  }

  inferForward(model: WideDeep, inputs: Inputs): NetOutput {
    return this.trainForward(model, inputs)
  }
}
