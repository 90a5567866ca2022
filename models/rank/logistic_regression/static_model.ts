/** @file The static-graph model: inputs, loss and metrics around net.ts. */
import { add, type Feeds, mean, metric, mul, type NetOutput, nn, optimizer, sigmoid, type Tensor, z } from 'oarfish'
import { LogisticRegression } from './net.ts'

export const hyperParameters = z
  .strictObject({
    optimizer: z
      .strictObject({
        class: z.literal('Adam').default('Adam'),
        learning_rate: z.number().positive().default(0.001),
        /** Kept for PaddleRec's sake: runner.sync_mode decides. */
        strategy: z.string().default('async'),
      })
      .prefault({}),
    /** Sparse slots and dense values together, as PaddleRec counts them. */
    num_field: z.int().min(2).default(39),
    /** How many of the fields are dense values; the others are the slots 1, 2, ... */
    dense_input_dim: z.int().positive().default(13),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_086_460),
    /** L1 penalty on the weights of the signs that a sample has. */
    reg: z.number().min(0).default(0.001),
  })
  .refine(({ num_field, dense_input_dim }) => num_field > dense_input_dim, {
    path: ['num_field'],
    error: 'expected more fields than dense_input_dim, which are the sparse slots',
  })

export interface Inputs {
  readonly click: Tensor
  readonly slots: readonly nn.SparseSlot[]
  readonly dense: Tensor
}

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ label, sparse, dense }: Feeds): Inputs {
    const { num_field, dense_input_dim } = this.#hyper
    return {
      click: label('click'),
      slots: Array.from({ length: num_field - dense_input_dim }, (_, i) => sparse(String(i + 1))),
      dense: dense('dense_feature', dense_input_dim),
    }
  }

  /** The penalty counts in training only, so that losses of an evaluation compare with other models'. */
  net({ click, slots, dense }: Inputs, isInfer: boolean): NetOutput {
    const { logit, l1 } = createNet(this.#hyper).forward(slots, dense)
    const cost = mean(nn.sigmoidCrossEntropy(logit, click))
    const predict = sigmoid(logit)
    return {
      loss: isInfer ? cost : add(cost, mul(l1, this.#hyper.reg)),
      metrics: { auc: metric.auc(predict, click) },
      outputs: { predict },
    }
  }

  createOptimizer() {
    return optimizer.adam({ learningRate: this.#hyper.optimizer.learning_rate, lazy: true })
  }
}

export function createNet({ dense_input_dim }: z.infer<typeof hyperParameters>): LogisticRegression {
  return new LogisticRegression({ denseWidth: dense_input_dim })
}
