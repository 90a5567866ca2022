/** @file Linear regression: the price of a house from 13 numbers about it. */
import { defineModel, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { mean } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('SGD', { learning_rate: z.number().positive().default(0.05) }),
    feature_dim: z.int().positive().default(13),
  },

  inputs: ({ dense }, { feature_dim }) => ({ x: dense('x', feature_dim), y: dense('y', 1) }),

  net({ x, y }) {
    const price = nn.linear(x, { name: 'fc', out: 1 })
    return { loss: mean(nn.squareError(price, y)), outputs: { price } }
  },

  optimizer: (hyper) => optimizer.sgd({ learningRate: hyper.optimizer.learning_rate }),
})
