/** @file GRU4Rec: reads a session item by item and says after each which items may come next. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { cast, div, greater, mul, reshape, softmax, sum, type Tensor, topK } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adagrad', { learning_rate: z.number().positive().default(0.01) }),
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
  },

  inputs: ({ sparse, dense }, { max_len }) => ({
    session: sparse('src_wordseq'),
    next: dense('dst_wordseq', max_len, 'int64'), // the item after each, [B, max_len]
  }),

  /** Loss and recall are means over all items that have a next one. */
  net({ session, next }, { hid_size: units, vocab_size, max_len: length, neg_num, recall_k, ...hyper }, { training }) {
    const init = { kind: 'uniform', low: hyper.init_low_bound, high: hyper.init_high_bound } as const
    const gru = new nn.Gru({ in: units, units, init, learningRate: hyper.gru_lr_x }).named('gru')
    const scores = new nn.ClassScores({ in: units, classes: vocab_size, init, learningRate: hyper.fc_lr_x }).named('fc')

    const { x, mask } = nn.sequenceEmbedding(session, { name: 'emb', dim: units, init, length })
    const { outputs: states, last } = gru.forward(x, mask) // after each item [B, T, units], after the last one [B, units]
    const classified =
      training && neg_num > 0 ? scores.sampled(states, next, { samples: neg_num }) : scores.all(states, next)

    const weights = reshape(mask, [-1, 1]) // [B * T, 1]
    const meanOf = (values: Tensor) => div(sum(mul(values, weights)), sum(weights))
    const best = topK(softmax(scores.logits(last)), recall_k)
    return {
      loss: meanOf(nn.softmaxCrossEntropy(classified.logits, classified.label)),
      recall: meanOf(cast(greater(recall_k, nn.classesAbove(classified)), 'float32')),
      outputs: { scores: best.values, items: best.indices },
      vectors: scores.vectors(last),
    }
  },

  metrics: ({ recall }) => ({ recall: metric.mean(recall) }),

  optimizer({ optimizer: { learning_rate }, emb_lr_x }) {
    const rated = (learningRate: number) => optimizer.adagrad({ learningRate })
    return { dense: rated(learning_rate), tables: { emb: rated(learning_rate * emb_lr_x) } }
  },
})
