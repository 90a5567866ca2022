/** @file A model that reads values: of its random numbers, of integers, of whole tensors; what it saw becomes a metric. */
import { type Feeds, metric, type NetOutput, optimizer } from 'oarfish'
import * as nn from 'oarfish/nn'
import { constant, mean, mul, sum, type Tensor } from 'oarfish/nn'

class Net extends nn.Layer {
  readonly norm = this.addSublayer('norm', new nn.BatchNorm({ width: 2 }))
  readonly drop = this.addSublayer('drop', new nn.Dropout({ rate: 0.5 }))
  readonly out = this.addSublayer('out', new nn.Linear({ in: 2, out: 1 }))
}

interface Inputs {
  readonly click: Tensor
  readonly x: Tensor
}

export class DygraphModel {
  createFeeds({ label, dense }: Feeds): Inputs {
    return { click: label('click'), x: dense('x', 2) }
  }

  createModel(): Net {
    return new Net()
  }

  createOptimizer() {
    return optimizer.adam({ learningRate: 0.1 })
  }

  createMetrics() {
    return { seen: 'mean', dropped: 'mean', clicks: 'mean', total: 'mean' } as const
  }

  async trainForward({ norm, drop, out }: Net, { click, x }: Inputs): Promise<NetOutput> {
    const dropped = drop.forward(norm.forward(x))
    const value = mean(mul(dropped, dropped))
    const loss = mean(nn.sigmoidCrossEntropy(out.forward(dropped), click))
    const [all, seen, clicks] = await Promise.all([x.data(), value.item(), sum(click).item()])
    const total = (all as Float32Array).reduce((a, b) => a + b, 0)
    const number = (n: number) => metric.mean(constant(x.builder, n))
    return {
      loss,
      metrics: {
        dropped: metric.mean(value),
        seen: number(seen),
        clicks: number(clicks),
        total: number(total),
      },
    }
  }

  inferForward(model: Net, inputs: Inputs): Promise<NetOutput> {
    return this.trainForward(model, inputs)
  }
}
