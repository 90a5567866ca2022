/** @file DSSM: a tower for queries and one for documents; a query should lie nearer to its document than to others. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { cast, concat, greater, logSoftmax, max, mean, neg, slice } from 'oarfish/nn'

const ACTIVATIONS = ['relu', 'sigmoid', 'tanh', 'linear'] as const

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
      /** Columns of a query and of a document: letter trigrams. */
      trigram_d: z.int().positive().default(2900),
      /** Documents that do not fit, for each query: the slots doc_neg_0, doc_neg_1, ... */
      neg_num: z.int().positive().default(1),
      /** Kept for PaddleRec's sake: the loss is over the whole batch, whatever its size. */
      slice_end: z.int().positive().default(8),
      fc_sizes: z.array(z.int().positive()).min(1).default([300, 300, 128]),
      /** One for each of fc_sizes. */
      fc_acts: z.array(z.enum(ACTIVATIONS)).default(['relu', 'relu', 'relu']),
    })
    .check(({ value: { fc_sizes, fc_acts }, issues }) => {
      if (fc_acts.length === fc_sizes.length) return
      const fix = fc_sizes.map((_, i) => fc_acts[i] ?? fc_acts.at(-1) ?? 'relu')
      const message = `one activation for each of the ${fc_sizes.length} fc_sizes`
      issues.push({ code: 'custom', path: ['fc_acts'], input: fc_acts, message, params: { fix } })
    }),

  /** The fitting document comes first. */
  inputs({ dense }, { trigram_d, neg_num }) {
    const names = ['doc_pos', ...Array.from({ length: neg_num }, (_, i) => `doc_neg_${i}`)]
    return { query: dense('query', trigram_d), docs: names.map((name) => dense(name, trigram_d)) }
  },

  /** The loss is that of the fitting document in a softmax over cosines; `hit` is how often it is the nearest. */
  net(inputs, { trigram_d, fc_sizes, fc_acts }) {
    const activations = fc_acts.map((name) => (name === 'linear' ? undefined : name))
    const tower = { in: trigram_d, sizes: fc_sizes, activations, init: { kind: 'xavier_normal' } } as const
    const towers = new nn.TwoTowers({ query: tower, doc: tower }).named('towers')
    const { query, docs, cosines } = towers.forward(inputs.query, inputs.docs)
    const [own, ...others] = cosines
    return {
      loss: mean(neg(slice(logSoftmax(concat(cosines, 1)), 1, 0, 1))),
      hit: mean(cast(greater(own!, max(concat(others, 1), 1, true)), 'float32')),
      outputs: { query_doc_sim: own!, query_vector: query, doc_vector: docs[0]! },
      vectors: { user: nn.l2Normalize(query, { axis: 1 }), item: nn.l2Normalize(docs[0]!, { axis: 1 }) },
    }
  },

  metrics: ({ hit }) => ({ hit: metric.mean(hit) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
