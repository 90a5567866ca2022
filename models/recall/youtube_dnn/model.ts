/** @file YouTubeDNN: what was watched and searched for becomes a vector of the user, which a softmax over all items ranks. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { cast, concat, greater, mean, softmax, topK } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('SGD', { learning_rate: z.number().positive().default(0.01) }),
    /** Values of a watched item's row, of a search word's row, and of the other features. */
    watch_vec_size: z.int().positive().default(64),
    search_vec_size: z.int().positive().default(64),
    other_feat_size: z.int().positive().default(64),
    /** Items are numbered from 0 to this less one. */
    output_size: z.int().positive().default(100),
    layers: z.array(z.int().positive()).min(1).default([128, 64, 32]),
    /** Items drawn a step to compare with; 0 compares with all. */
    neg_num: z.int().min(0).default(0),
    recall_k: z.int().positive().default(10),
  },

  inputs: ({ sparse, dense, label }, { other_feat_size }) => ({
    watched: sparse('watch'),
    searched: sparse('search'),
    other: dense('other_feat', other_feat_size),
    label: label('label'),
  }),

  net({ watched, searched, other, label }, { output_size: classes, neg_num, recall_k, ...hyper }, { training }) {
    const watch = nn.embedding(watched, { name: 'watch', dim: hyper.watch_vec_size, pooling: 'mean' })
    const search = nn.embedding(searched, { name: 'search', dim: hyper.search_vec_size, pooling: 'mean' })
    const biasInit = { kind: 'constant', value: 0.1 } as const
    const tower = { name: 'tower', sizes: hyper.layers, lastActivation: 'relu', biasInit } as const
    const user = nn.mlp(concat([watch, search, other], 1), tower)

    const items = new nn.ClassScores({ in: hyper.layers.at(-1)!, classes, init: { kind: 'lecun_normal' } }).named(
      'item',
    )
    const classified =
      training && neg_num > 0 ? items.sampled(user, label, { samples: neg_num }) : items.all(user, label)
    const best = topK(softmax(items.logits(user)), Math.min(recall_k, classes))
    return {
      loss: mean(nn.softmaxCrossEntropy(classified.logits, classified.label)),
      recall: mean(cast(greater(recall_k, nn.classesAbove(classified)), 'float32')),
      outputs: { scores: best.values, items: best.indices, user },
      vectors: { ...items.vectors(user), taken: label },
    }
  },

  metrics: ({ recall }) => ({ recall: metric.mean(recall) }),

  optimizer: (hyper) => optimizer.sgd({ learningRate: hyper.optimizer.learning_rate }),
})
