/** @file The static-graph model: inputs, losses and metrics of two tasks around net.ts. */
import { add, type Feeds, mean, metric, type NetOutput, nn, optimizer, slice, softmax, type Tensor, z } from 'oarfish'
import { Mmoe } from './net.ts'

export const hyperParameters = z.strictObject({
  optimizer: z
    .strictObject({
      class: z.enum(['adam', 'Adam']).default('adam'),
      learning_rate: z.number().positive().default(0.001),
      /** Kept for PaddleRec's sake: runner.sync_mode decides. */
      strategy: z.string().default('async'),
    })
    .prefault({}),
  feature_size: z.int().positive().default(499),
  expert_num: z.int().positive().default(8),
  /** One gate a task; the two labels make two. */
  gate_num: z.literal(2).default(2),
  expert_size: z.int().positive().default(16),
  tower_size: z.int().positive().default(8),
})

export interface Inputs {
  readonly input: Tensor
  readonly income: Tensor
  readonly marital: Tensor
}

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ dense, label }: Feeds): Inputs {
    return {
      input: dense('input', this.#hyper.feature_size),
      income: label('label_income'),
      marital: label('label_marital'),
    }
  }

  net(inputs: Inputs): NetOutput {
    return forward(createNet(this.#hyper), inputs)
  }

  createOptimizer() {
    return optimizer.adam({ learningRate: this.#hyper.optimizer.learning_rate, lazy: true })
  }
}

/** The loss is the sum of both tasks' cross-entropies. */
export function forward(model: Mmoe, { input, income, marital }: Inputs): NetOutput {
  const [incomeLogits, maritalLogits] = model.forward(input)
  const cost = (logits: Tensor, label: Tensor) => mean(nn.softmaxCrossEntropy(logits, label))
  const predicted = (logits: Tensor) => slice(softmax(logits), 1, 1) // the second class
  const [pred_income, pred_marital] = [predicted(incomeLogits!), predicted(maritalLogits!)]
  return {
    loss: add(cost(incomeLogits!, income), cost(maritalLogits!, marital)),
    metrics: { auc_income: metric.auc(pred_income, income), auc_marital: metric.auc(pred_marital, marital) },
    outputs: { pred_income, pred_marital },
  }
}

export function createNet(hyper: z.infer<typeof hyperParameters>): Mmoe {
  return new Mmoe({
    featureSize: hyper.feature_size,
    experts: hyper.expert_num,
    expertSize: hyper.expert_size,
    towerSize: hyper.tower_size,
    gates: hyper.gate_num,
  })
}
