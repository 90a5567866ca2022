/** @file The dynamic-graph model: the net of static_model.ts, traced anew for every batch. */
import type { Feeds, NetOutput, z } from 'oarfish'
import type { DcnV2 } from './net.ts'
import { createNet, forward, hyperParameters, type Inputs, StaticModel } from './static_model.ts'

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

  createModel(): DcnV2 {
    return createNet(this.#hyper)
  }

  createOptimizer() {
    return this.#static.createOptimizer()
  }

  createMetrics() {
    return { auc: 'auc' } as const
  }

  trainForward(model: DcnV2, inputs: Inputs): NetOutput {
    return forward(model, inputs)
  }

  inferForward(model: DcnV2, inputs: Inputs): NetOutput {
    return forward(model, inputs)
  }
}
