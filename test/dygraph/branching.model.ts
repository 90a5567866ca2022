/** @file A model that only a dynamic graph can train: how often its cell runs, and which head it has, depend on values of the batch. */
import { type Feeds, metric, type NetOutput, optimizer } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, square, type Tensor } from 'oarfish/nn'

const [DENSE, DIM, HIDDEN] = [4, 3, 6]
const [ENOUGH, MOST] = [0.3, 4]

interface Inputs {
  readonly click: Tensor
  readonly item: nn.SparseSlot
  readonly extra: nn.SparseSlot
  readonly x: Tensor
}

class Net extends nn.Layer {
  readonly #gate = this.addSublayer('gate', new nn.Linear({ in: DENSE, out: 1 }))
  readonly #item = this.addSublayer('item', new nn.Embedding({ dim: DIM }))
  readonly #extra = this.addSublayer('extra', new nn.Embedding({ dim: DIM }))
  readonly #enter = this.addSublayer('enter', new nn.Linear({ in: DIM + DENSE, out: HIDDEN, activation: 'tanh' }))
  readonly #cell = this.addSublayer('cell', new nn.Linear({ in: HIDDEN, out: HIDDEN, activation: 'tanh' }))
  readonly #left = this.addSublayer('left', new nn.Linear({ in: HIDDEN, out: 1 }))
  readonly #right = this.addSublayer('right', new nn.Linear({ in: HIDDEN + DIM, out: 1 }))

  async forward({ item, extra, x }: Inputs): Promise<Tensor> {
    let h = this.#enter.forward(concat([this.#item.forward(item), x], 1))
    for (let loops = 0; loops < MOST && (await mean(square(h)).item()) > ENOUGH; loops++) h = this.#cell.forward(h)
    const left = (await mean(this.#gate.forward(x)).item()) > 0
    return left ? this.#left.forward(h) : this.#right.forward(concat([h, this.#extra.forward(extra)], 1))
  }
}

export class DygraphModel {
  createFeeds({ label, sparse, dense }: Feeds): Inputs {
    return { click: label('click'), item: sparse('item'), extra: sparse('extra'), x: dense('x', DENSE) }
  }

  createModel(): Net {
    return new Net()
  }

  createOptimizer() {
    const sgd = optimizer.sgd({ learningRate: 0.1 })
    return {
      dense: optimizer.momentum({ learningRate: 0.1, momentum: 0.9 }),
      tables: { item: sgd, extra: sgd },
    }
  }

  createMetrics() {
    return { cost: 'mean' } as const
  }

  async trainForward(model: Net, inputs: Inputs): Promise<NetOutput> {
    const loss = mean(nn.sigmoidCrossEntropy(await model.forward(inputs), inputs.click))
    return { loss, metrics: { cost: metric.mean(loss) } }
  }

  inferForward(model: Net, inputs: Inputs): Promise<NetOutput> {
    return this.trainForward(model, inputs)
  }
}
