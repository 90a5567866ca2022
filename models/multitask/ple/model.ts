/** @file PLE: experts of each task beside shared ones, level by level, so that tasks that disagree do not spoil each other. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, mean, slice, softmax, type Tensor } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    feature_size: z.int().positive().default(499),
    /** One tower a task; the two labels make two. */
    task_num: z.literal(2).default(2),
    /** Experts that all tasks share. */
    shared_num: z.int().positive().default(2),
    exp_per_task: z.int().positive().default(3),
    level_number: z.int().positive().default(1),
    expert_size: z.int().positive().default(16),
    tower_size: z.int().positive().default(8),
  },

  inputs: ({ dense, label }, { feature_size }) => ({
    input: dense('input', feature_size),
    income: label('label_income'),
    marital: label('label_marital'),
  }),

  /** The loss is the sum of both tasks' cross-entropies. */
  net({ input, income, marital }, { feature_size, task_num: tasks, expert_size: expertSize, level_number, ...hyper }) {
    const sizes = { tasks, taskExperts: hyper.exp_per_task, sharedExperts: hyper.shared_num, expertSize }
    let mixed: readonly Tensor[] = [input, input, input] // for each task, and what is shared
    for (let i = 0; i < level_number; i++) {
      const level = { ...sizes, in: i === 0 ? feature_size : expertSize, last: i === level_number - 1 }
      mixed = new nn.ProgressiveExperts(level).named(`level_${i}`).forward(mixed)
    }
    const towers = mixed.map((x, i) => nn.mlp(x, { name: `tower_${i}`, sizes: [hyper.tower_size, 2] }))
    const [incomeLogits, maritalLogits] = [towers[0]!, towers[1]!]
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
