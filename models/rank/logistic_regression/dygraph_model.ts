/** @file The dynamic-graph model: the net of static_model.ts, traced anew for every batch. */
import { add, type Feeds, mean, metric, mul, type NetOutput, nn, sigmoid, type z } from 'oarfish'
import type { LogisticRegression } from './net.ts'
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

  createModel(): LogisticRegression {
    return createNet(this.#hyper)
  }

  createOptimizer() {
    return this.#static.createOptimizer()
  }

  createMetrics() {
    return { auc: 'auc' } as const
  }

  trainForward(model: LogisticRegression, inputs: Inputs): NetOutput {
    const { l1, output } = forward(model, inputs)
    return { ...output, loss: add(output.loss, mul(l1, this.#hyper.reg)) }
  }

  /** Without the penalty, so that losses of an evaluation compare with other models'. */
  inferForward(model: LogisticRegression, inputs: Inputs): NetOutput {
    return forward(model, inputs).output
  }
}

function forward(model: LogisticRegression, { click, slots, dense }: Inputs) {
  const { logit, l1 } = model.forward(slots, dense)
  const loss = mean(nn.sigmoidCrossEntropy(logit, click))
  return { l1, output: { loss, metrics: { auc: metric.auc(sigmoid(logit), click) } } }
}
