/** @file The static-graph model: inputs, loss and metrics around net.ts. */
import {
  cast,
  div,
  type Feeds,
  greater,
  metric,
  mul,
  type NetOutput,
  nn,
  optimizer,
  reshape,
  softmax,
  sum,
  type Tensor,
  topK,
  z,
} from 'oarfish'
import { Gru4Rec } from './net.ts'

export const hyperParameters = z.strictObject({
  optimizer: z
    .strictObject({
      class: z.enum(['adagrad', 'Adagrad']).default('adagrad'),
      learning_rate: z.number().positive().default(0.01),
      /** Kept for PaddleRec's sake: runner.sync_mode decides. */
      strategy: z.string().default('async'),
    })
    .prefault({}),
  recall_k: z.int().positive().default(20),
  /** Items are numbered from 0 to this less one. */
  vocab_size: z.int().positive().default(37_483),
  hid_size: z.int().positive().default(100),
  /** Factors of the learning rate for rows, recurrent weights and the last layer. */
  emb_lr_x: z.number().positive().default(10),
  gru_lr_x: z.number().positive().default(1),
  fc_lr_x: z.number().positive().default(1),
  init_low_bound: z.number().default(-0.04),
  init_high_bound: z.number().default(0.04),
  /** Items of a session that are read; rsc15_reader.ts keeps the last ones. */
  max_len: z.int().positive().default(20),
  /** Items drawn a step to compare with; 0 compares with all. */
  neg_num: z.int().min(0).default(0),
})

type Hyper = z.infer<typeof hyperParameters>

export interface Inputs {
  readonly session: nn.SparseSlot
  /** The item after each, [B, max_len]. */
  readonly next: Tensor
}

export class StaticModel {
  readonly #hyper: Hyper

  constructor(hyper: Hyper) {
    this.#hyper = hyper
  }

  createFeeds({ sparse, dense }: Feeds): Inputs {
    return { session: sparse('src_wordseq'), next: dense('dst_wordseq', this.#hyper.max_len, 'int64') }
  }

  net(inputs: Inputs, isInfer: boolean): NetOutput {
    return forward(createNet(this.#hyper), inputs, this.#hyper, isInfer)
  }

  createOptimizer() {
    const { optimizer: own, emb_lr_x } = this.#hyper
    const rated = (learningRate: number) => optimizer.adagrad({ learningRate })
    return { dense: rated(own.learning_rate), tables: { emb: rated(own.learning_rate * emb_lr_x) } }
  }
}

/** Loss and recall are means over all items that have a next one. */
export function forward(
  model: Gru4Rec,
  { session, next }: Inputs,
  { neg_num, recall_k }: Pick<Hyper, 'neg_num' | 'recall_k'>,
  isInfer: boolean,
): NetOutput {
  const { states, last, mask } = model.forward(session)
  const classified =
    isInfer || neg_num === 0 ? model.scores.all(states, next) : model.scores.sampled(states, next, { samples: neg_num })
  const weights = reshape(mask, [-1, 1]) // [B * T, 1]
  const meanOf = (values: Tensor) => div(sum(mul(values, weights)), sum(weights))
  const above = nn.classesAbove(classified)
  const { values: scores, indices: items } = topK(softmax(model.scores.logits(last)), recall_k)
  return {
    loss: meanOf(nn.softmaxCrossEntropy(classified.logits, classified.label)),
    metrics: { recall: metric.mean(meanOf(cast(greater(recall_k, above), 'float32'))) },
    outputs: { scores, items },
  }
}

export function createNet(hyper: Hyper): Gru4Rec {
  return new Gru4Rec({
    items: hyper.vocab_size,
    units: hyper.hid_size,
    length: hyper.max_len,
    init: { kind: 'uniform', low: hyper.init_low_bound, high: hyper.init_high_bound },
    rates: { gru: hyper.gru_lr_x, fc: hyper.fc_lr_x },
  })
}
