/** @file Shared bottom: one layer that all tasks share, and a tower for each. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, mean, slice, softmax, type Tensor } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    feature_size: z.int().positive().default(499),
    bottom_size: z.int().positive().default(117),
    /** One tower a task; the two labels make two. */
    task_num: z.literal(2).default(2),
    tower_size: z.int().positive().default(8),
  },

  inputs: ({ dense, label }, { feature_size }) => ({
    input: dense('input', feature_size),
    income: label('label_income'),
    marital: label('label_marital'),
  }),

  /** The loss is the sum of both tasks' cross-entropies. */
  net({ input, income, marital }, { bottom_size, tower_size }) {
    const bottom = nn.linear(input, { name: 'bottom', out: bottom_size, activation: 'relu' })
    const tower = (name: string) => nn.mlp(bottom, { name, sizes: [tower_size, 2] })
    const [incomeLogits, maritalLogits] = [tower('tower_0'), tower('tower_1')]
    const cost = (logits: Tensor, label: Tensor) => mean(nn.softmaxCrossEntropy(logits, label))
    const predicted = (logits: Tensor) => slice(softmax(logits), 1, 1) // the second class
    return {
      loss: add(cost(incomeLogits, income), cost(maritalLogits, marital)),
      outputs: { pred_income: predicted(incomeLogits), pred_marital: predicted(maritalLogits) },
    }
  },

  metrics: ({ outputs: { pred_income, pred_marital } }, { income, marital }) => ({
    auc_income: metric.auc(pred_income, income),
    auc_marital: metric.auc(pred_marital, marital),
  }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
