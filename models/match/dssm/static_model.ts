/** @file The static-graph model: inputs, loss and metrics around net.ts. */
import {
  cast,
  concat,
  type Feeds,
  greater,
  logSoftmax,
  max,
  mean,
  metric,
  type NetOutput,
  neg,
  optimizer,
  slice,
  type Tensor,
  z,
} from 'oarfish'
import { Dssm } from './net.ts'

const ACTIVATIONS = ['relu', 'sigmoid', 'tanh', 'linear'] as const

export const hyperParameters = z
  .strictObject({
    optimizer: z
      .strictObject({
        class: z.enum(['adam', 'Adam']).default('adam'),
        learning_rate: z.number().positive().default(0.001),
        /** Kept for PaddleRec's sake: runner.sync_mode decides. */
        strategy: z.string().default('sync'),
      })
      .prefault({}),
    trigram_d: z.int().positive().default(2900),
    /** Documents that do not fit, for each query: the slots doc_neg_0, doc_neg_1, ... */
    neg_num: z.int().positive().default(1),
    /** Kept for PaddleRec's sake: the loss is over the whole batch, whatever its size. */
    slice_end: z.int().positive().default(8),
    fc_sizes: z.array(z.int().positive()).min(1).default([300, 300, 128]),
    /** One for each of fc_sizes. */
    fc_acts: z.array(z.enum(ACTIVATIONS)).default(['relu', 'relu', 'relu']),
  })
  .check(({ value, issues }) => {
    const { fc_sizes, fc_acts } = value
    if (fc_acts.length === fc_sizes.length) return
    const fix = fc_sizes.map((_, i) => fc_acts[i] ?? fc_acts.at(-1) ?? 'relu')
    const message = `one activation for each of the ${fc_sizes.length} fc_sizes`
    issues.push({ code: 'custom', path: ['fc_acts'], input: fc_acts, message, params: { fix } })
  })

export interface Inputs {
  readonly query: Tensor
  /** The fitting one first. */
  readonly docs: readonly Tensor[]
}

export class StaticModel {
  readonly #hyper: z.infer<typeof hyperParameters>

  constructor(hyper: z.infer<typeof hyperParameters>) {
    this.#hyper = hyper
  }

  createFeeds({ dense }: Feeds): Inputs {
    const { trigram_d, neg_num } = this.#hyper
    const names = ['doc_pos', ...Array.from({ length: neg_num }, (_, i) => `doc_neg_${i}`)]
    const query = dense('query', trigram_d)
    return { query, docs: names.map((name) => dense(name, trigram_d)) }
  }

  net(inputs: Inputs): NetOutput {
    return forward(createNet(this.#hyper), inputs)
  }

  createOptimizer() {
    return optimizer.adam({ learningRate: this.#hyper.optimizer.learning_rate, lazy: true })
  }
}

/** The loss is that of the fitting document in a softmax over cosines; `hit` is how often it is the nearest. */
export function forward(model: Dssm, inputs: Inputs): NetOutput {
  const { query, docs, cosines } = model.forward(inputs.query, inputs.docs)
  const [own, ...others] = cosines
  const best = max(concat(others, 1), 1, true)
  return {
    loss: mean(neg(slice(logSoftmax(concat(cosines, 1)), 1, 0, 1))),
    metrics: { hit: metric.mean(mean(cast(greater(own!, best), 'float32'))) },
    outputs: { query_doc_sim: own!, query_vector: query, doc_vector: docs[0]! },
  }
}

export function createNet({ trigram_d, fc_sizes, fc_acts }: z.infer<typeof hyperParameters>): Dssm {
  const activations = fc_acts.map((name) => (name === 'linear' ? undefined : name))
  return new Dssm({ trigrams: trigram_d, layerSizes: fc_sizes, activations })
}
