/** @file TiSASRec: what comes next, by self-attention that knows how much time lies between any two items of a history. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { abs, add, cast, clip, mul, sub, type Tensor, unsqueeze } from 'oarfish/nn'

const EPSILON = 1e-8

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
      /** Kept for PaddleRec's sake: users have no rows. */
      num_users: z.int().positive().default(6040),
      /** Items are numbered from 1 to this; movielens_reader.ts draws from them. */
      num_items: z.int().positive().default(3416),
      num_blocks: z.int().positive().default(2),
      num_heads: z.int().positive().default(1),
      /** Items of a history that are read; movielens_reader.ts keeps the last ones. */
      maxlen: z.int().positive().default(50),
      hidden_units: z.int().positive().default(50),
      /** Longer intervals count as this; 1 is the shortest that a user has. */
      time_span: z.int().positive().default(256),
      dropout_rate: z.number().min(0).lt(1).default(0.2),
      /** Other items that an evaluation ranks beside the one that came next. */
      neg_num: z.int().positive().default(100),
      /** Of hr and ndcg. */
      recall_k: z.int().positive().default(10),
    })
    .refine(({ hidden_units, num_heads }) => hidden_units % num_heads === 0, {
      path: ['num_heads'],
      error: 'expected heads that divide hidden_units: a head has an equal share of the columns',
    }),

  /** Items and when they were taken; after each the one that came next, and others that did not. */
  inputs: ({ sparse, dense }, { maxlen }) => ({
    history: sparse('history'),
    time: dense('time', maxlen),
    next: sparse('next'),
    other: sparse('other'),
  }),

  /** Trained after every item, against one other; measured after the last, against all others that the sample has. */
  net(
    { history, time, next, other },
    { hidden_units: dim, maxlen: length, dropout_rate: rate, ...hyper },
    { training },
  ) {
    const bound = Math.sqrt(6 / (hyper.num_items + dim)) // Xavier's, of the whole table
    const items = { table: 'item_emb', dim, init: { kind: 'uniform', low: -bound, high: bound } } as const
    const { x: rows, mask } = nn.sequenceEmbedding(history, { name: 'history', ...items, length })
    const { x: own } = nn.sequenceEmbedding(next, { name: 'next', ...items, length })
    const others = nn.sequenceEmbedding(other, { name: 'other', ...items, length: training ? length : hyper.neg_num })

    const apart = clip(abs(sub(unsqueeze(time, 2), unsqueeze(time, 1))), 0, hyper.time_span) // [B, T, T]
    const init = { kind: 'xavier_uniform' } as const
    const place = (name: string) => dropped(nn.placeEmbedding(mask, { name, length, dim, init }), name, rate)
    const shape = [hyper.time_span + 1, dim]
    const interval = (name: string) => dropped(mask.builder.parameter({ name, shape, init }), name, rate)
    const known = {
      mask,
      places: { key: place('place_key'), value: place('place_value') },
      intervals: cast(apart, 'int64'),
      lengths: { key: interval('interval_key'), value: interval('interval_value') },
    }

    let x = dropped(mul(rows, Math.sqrt(dim)), 'history', rate)
    for (let i = 0; i < hyper.num_blocks; i++) {
      const name = `block_${i}`
      const attention = new nn.IntervalAttention({ in: dim, heads: hyper.num_heads, dropout: rate })
      const queries = nn.layerNorm(x, { name: `${name}.norm_0`, epsilon: EPSILON })
      const attended = add(queries, attention.named(`${name}.attention`).forward(queries, { seen: x, ...known }))
      const normed = nn.layerNorm(attended, { name: `${name}.norm_1`, epsilon: EPSILON })
      const hidden = nn.linear(normed, { name: `${name}.ffn.0`, out: dim, activation: 'relu' })
      const out = nn.linear(dropped(hidden, `${name}.ffn.0`, rate), { name: `${name}.ffn.1`, out: dim })
      x = mul(add(normed, dropped(out, `${name}.ffn.1`, rate)), unsqueeze(mask, 2))
    }
    const states = nn.layerNorm(x, { name: 'norm', epsilon: EPSILON }) // [B, T, dim]: after each item

    const user = nn.lastElement(states, mask) // [B, dim]
    const { score, above, loss } = nn.rankAmong(user, nn.lastElement(own, mask), others.x, others.mask)
    return {
      loss: training ? nn.nextItemLoss(states, own, others.x, mask) : loss,
      ...nn.hitMetrics(above, hyper.recall_k),
      outputs: { score, user },
    }
  },

  metrics: ({ hr, ndcg }) => ({ hr: metric.mean(hr), ndcg: metric.mean(ndcg) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

function dropped(x: Tensor, name: string, rate: number): Tensor {
  return nn.dropout(x, { name: `${name}.dropout`, rate })
}
