/** @file What an editor knows of a model: compiled, never run. Each @ts-expect-error is a mistake that it reports. */
import { defineModel, metric, optimizer, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { mean, type Tensor } from 'oarfish/nn'

export function types(): void {
  const model = defineModel({
    hyperParameters: {
      sizes: z.array(z.int()),
      group: z.strictObject({ rate: z.number() }),
      note: z.string().optional(),
    },
    inputs({ label, sparse, dense }, { sizes, ...hyper }, { training }) {
      sizes satisfies number[]
      hyper.note satisfies string | undefined
      training satisfies boolean
      // @ts-expect-error There is no such hyper-parameter.
      hyper.dim
      return { click: label('click'), slots: [sparse('1')], x: dense('x', 13) }
    },
    net({ click, slots, x }, { sizes, group }, run) {
      slots satisfies nn.SparseSlot[]
      x satisfies Tensor
      group.rate satisfies number
      run.sync_mode satisfies 'sync' | 'async' | 'half_async' | 'geo' | 'gpubox'
      run.device satisfies 'cpu' | 'gpu'
      run.mode satisfies 'static' | 'dygraph'
      // @ts-expect-error A slot is no tensor.
      mean(slots[0])
      // @ts-expect-error There is no such group.
      sizes.rate
      return { loss: mean(nn.mlp(x, { name: 'fc', sizes })), outputs: { predict: x }, click }
    },
    metrics({ outputs, click }, inputs, { group }) {
      group.rate satisfies number
      // @ts-expect-error The net returns no such output.
      outputs.score
      // @ts-expect-error There is no such input.
      inputs.clicks
      return { auc: metric.auc(outputs.predict, click) }
    },
    optimizer: ({ group }) => optimizer.adam({ learningRate: group.rate }),
  })
  model.hyperParameters.parse({}).sizes satisfies number[]

  defineModel({
    hyperParameters: z.strictObject({ width: z.int() }).refine(({ width }) => width > 1),
    inputs: ({ dense }, { width }) => ({ x: dense('x', width) }),
    // @ts-expect-error There is no input of this name.
    net: ({ y }) => ({ loss: mean(y) }),
    optimizer: optimizer.sgd(),
  })

  defineModel({
    inputs: ({ dense }) => ({ x: dense('x', 1) }),
    // @ts-expect-error A model that declares no hyper-parameters has none.
    net: ({ x }, { width }) => ({ loss: mean(x), width }),
    optimizer: optimizer.sgd(),
  })

  defineModel({
    inputs: ({ dense }) => ({ x: dense('x', 1) }),
    // @ts-expect-error A net returns a loss.
    net: ({ x }) => ({ outputs: { x } }),
    optimizer: optimizer.sgd(),
  })

  defineModel({
    inputs: ({ dense }) => ({ x: dense('x', 1) }),
    net: ({ x }) => ({ loss: mean(x) }),
    // @ts-expect-error There is no such field.
    metric: () => ({}),
    optimizer: optimizer.sgd(),
  })
}
