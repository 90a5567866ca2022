/** @file HSTU: what comes next, by layers of attention without a softmax, which keep how strongly a user likes something. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { mul, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
      /** Items are numbered from 1 to this; sequence_reader.ts draws from them. */
      item_num: z.int().positive().default(23_715),
      /** Items of a history that are read; sequence_reader.ts keeps the last ones. Distances up to it have a bias of their own. */
      maxlen: z.int().positive().default(50),
      hidden_units: z.int().positive().default(50),
      num_blocks: z.int().positive().default(2),
      num_heads: z.int().positive().default(1),
      dropout_rate: z.number().min(0).lt(1).default(0.2),
      /** Other items that an evaluation ranks beside the one that came next. */
      neg_num: z.int().positive().default(100),
      /** `true`: only the rows of a batch move in a step. */
      lazy_rows: z.boolean().default(false),
      /** Of hr and ndcg. */
      recall_k: z.int().positive().default(10),
    })
    .refine(({ hidden_units, num_heads }) => hidden_units % num_heads === 0, {
      path: ['num_heads'],
      error: 'expected heads that divide hidden_units: a head has an equal share of the columns',
    }),

  /** After each item of the history the one that came next, and others that did not. */
  inputs: ({ sparse }) => ({ history: sparse('history'), next: sparse('next'), other: sparse('other') }),

  /** Trained after every item, against one other; measured after the last, against all others that the sample has. */
  net({ history, next, other }, { hidden_units: width, maxlen: length, ...hyper }, { training }) {
    const bound = Math.sqrt(6 / (hyper.item_num + width)) // Xavier's, of the whole table
    const items = { table: 'item_emb', dim: width, init: { kind: 'uniform', low: -bound, high: bound } } as const
    const { x: rows, mask } = nn.sequenceEmbedding(history, { name: 'history', ...items, length: 'T' })
    const { x: own } = nn.sequenceEmbedding(next, { name: 'next', ...items, length: 'T' })
    const others = nn.sequenceEmbedding(other, { name: 'other', ...items, length: training ? 'T' : hyper.neg_num })

    const options = { width, heads: hyper.num_heads, length, dropout: hyper.dropout_rate }
    const layers = Array.from({ length: hyper.num_blocks }, (_, i) => new nn.HstuLayer(options).named(`layer_${i}`))
    const first = nn.dropout(mul(rows, Math.sqrt(width)), { name: 'dropout', rate: hyper.dropout_rate })
    const encoded = layers.reduce((x, layer) => mul(layer.forward(x, mask), unsqueeze(mask, 2)), first)
    const states = nn.layerNorm(encoded, { name: 'norm' }) // [B, T, width]: after each item

    const user = nn.lastElement(states, mask) // [B, width]
    const { score, above, loss } = nn.rankAmong(user, nn.lastElement(own, mask), others.x, others.mask)
    return {
      loss: training ? nn.nextItemLoss(states, own, others.x, mask) : loss,
      ...nn.hitMetrics(above, hyper.recall_k),
      outputs: { score, user },
      vectors: training
        ? undefined
        : { user, item: { id: next, vector: nn.embedding(next, { name: 'item', ...items }) } },
    }
  },

  metrics: ({ hr, ndcg }) => ({ hr: metric.mean(hr), ndcg: metric.mean(ndcg) }),

  optimizer: ({ optimizer: { learning_rate: learningRate }, lazy_rows: lazy }) =>
    optimizer.adam({ learningRate, beta2: 0.98, lazy }),
})
