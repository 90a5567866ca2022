/** @file MMoE: experts that all tasks share, a gate of its own for each task, and a tower on what the gate lets through. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, mean, slice, softmax, type Tensor } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    feature_size: z.int().positive().default(499),
    expert_num: z.int().positive().default(8),
    /** One gate a task; the two labels make two. */
    gate_num: z.literal(2).default(2),
    expert_size: z.int().positive().default(16),
    tower_size: z.int().positive().default(8),
  },

  inputs: ({ dense, label }, { feature_size }) => ({
    input: dense('input', feature_size),
    income: label('label_income'),
    marital: label('label_marital'),
  }),

  /** The loss is the sum of both tasks' cross-entropies. */
  net({ input, income, marital }, { feature_size, expert_num, expert_size, gate_num: gates, tower_size }) {
    const options = { in: feature_size, experts: expert_num, expertSize: expert_size, gates }
    const mixed = new nn.GatedExperts(options).named('experts').forward(input)
    const [incomeLogits, maritalLogits] = mixed.map((x, i) => nn.mlp(x, { name: `tower_${i}`, sizes: [tower_size, 2] }))
    const cost = (logits: Tensor, label: Tensor) => mean(nn.softmaxCrossEntropy(logits, label))
    const predicted = (logits: Tensor) => slice(softmax(logits), 1, 1) // the second class
    return {
      loss: add(cost(incomeLogits!, income), cost(maritalLogits!, marital)),
      outputs: { pred_income: predicted(incomeLogits!), pred_marital: predicted(maritalLogits!) },
    }
  },

  metrics: ({ outputs: { pred_income, pred_marital } }, { income, marital }) => ({
    auc_income: metric.auc(pred_income, income),
    auc_marital: metric.auc(pred_marital, marital),
  }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
