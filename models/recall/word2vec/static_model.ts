/** @file The static-graph model: inputs, loss and metrics around net.ts. */
import { cast, type Feeds, greater, max, mean, metric, type NetOutput, nn, optimizer, z } from 'oarfish'
import { Word2Vec, type Word2VecInputs } from './net.ts'

export const hyperParameters = z.strictObject({
  optimizer: z
    .strictObject({
      class: z.enum(['sgd', 'SGD']).default('sgd'),
      learning_rate: z.number().positive().default(1),
      /** The rate is multiplied by decay_rate every decay_steps, smoothly. */
      decay_steps: z.int().positive().default(100_000),
      decay_rate: z.number().positive().max(1).default(0.999),
      /** Kept for PaddleRec's sake: runner.sync_mode decides. */
      strategy: z.string().default('async'),
    })
    .prefault({}),
  /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
  sparse_feature_number: z.int().positive().default(1000),
  sparse_feature_dim: z.int().positive().default(300),
  /** Draws negatives from the batch instead of the slot neg_label. */
  with_shuffle_batch: z.boolean().default(false),
  neg_num: z.int().positive().default(5),
  /** How far word2vec_reader.ts looks to either side. */
  window_size: z.int().positive().default(5),
})

export type Inputs = Word2VecInputs

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ sparse }: Feeds): Inputs {
    const [word, near] = [sparse('input_word'), sparse('true_label')]
    return { word, near, negative: this.#hyper.with_shuffle_batch ? undefined : sparse('neg_label') }
  }

  net(inputs: Inputs): NetOutput {
    return forward(createNet(this.#hyper), inputs)
  }

  createOptimizer() {
    const { learning_rate, decay_rate: gamma, decay_steps: every } = this.#hyper.optimizer
    return optimizer.sgd({ learningRate: learning_rate, schedule: { kind: 'exponential', gamma, every } })
  }
}

/** `hit` is how often the near word scores above all drawn ones. */
export function forward(model: Word2Vec, inputs: Inputs): NetOutput {
  const { vector, positives, negatives } = model.forward(inputs)
  const first = greater(positives, max(negatives, 1, true))
  return {
    loss: nn.negativeSampling(positives, negatives),
    metrics: { hit: metric.mean(mean(cast(first, 'float32'))) },
    outputs: { vector },
  }
}

export function createNet({ sparse_feature_dim, neg_num }: z.infer<typeof hyperParameters>): Word2Vec {
  return new Word2Vec({ dim: sparse_feature_dim, negatives: neg_num })
}
