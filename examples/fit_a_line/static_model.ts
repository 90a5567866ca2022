/** @file Linear regression: the price of a house from 13 numbers about it. */
import { type Feeds, mean, type NetOutput, nn, optimizer, type Tensor, z } from 'oarfish'

export const hyperParameters = z.strictObject({
  optimizer: z
    .strictObject({
      class: z.literal('SGD').default('SGD'),
      learning_rate: z.number().positive().default(0.05),
    })
    .prefault({}),
  feature_dim: z.int().positive().default(13),
})

interface Inputs {
  readonly x: Tensor
  readonly y: Tensor
}

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ dense }: Feeds): Inputs {
    return { x: dense('x', this.#hyper.feature_dim), y: dense('y', 1) }
  }

  net({ x, y }: Inputs): NetOutput {
    const price = nn.linear(x, { name: 'fc', out: 1 })
    return { loss: mean(nn.squareError(price, y)), outputs: { price } }
  }

  createOptimizer() {
    return optimizer.sgd({ learningRate: this.#hyper.optimizer.learning_rate })
  }
}
