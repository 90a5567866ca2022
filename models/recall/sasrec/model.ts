/** @file SASRec: what comes next, by self-attention over what came before. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, mul, type Tensor, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
      /** Items are numbered from 1 to this; sequence_reader.ts draws from them. */
      item_num: z.int().positive().default(23_715),
      /** Items of a history that are read; sequence_reader.ts keeps the last ones. */
      maxlen: z.int().positive().default(50),
      hidden_units: z.int().positive().default(50),
      num_blocks: z.int().positive().default(2),
      num_heads: z.int().positive().default(1),
      dropout_rate: z.number().min(0).lt(1).default(0.5),
      /** Other items that an evaluation ranks beside the one that came next. */
      neg_num: z.int().positive().default(100),
      /** `true`: only the rows of a batch move in a step. The authors' Adam moves all rows in every step, which learns rare items sooner. */
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
  net({ history, next, other }, { hidden_units: dim, maxlen: length, dropout_rate, ...hyper }, { training }) {
    const bound = Math.sqrt(6 / (hyper.item_num + dim)) // Xavier's, of the whole table: as the authors begin
    const items = { table: 'item_emb', dim, init: { kind: 'uniform', low: -bound, high: bound } } as const
    const { x: rows, mask } = nn.sequenceEmbedding(history, { name: 'history', ...items, length: 'T' })
    const { x: own } = nn.sequenceEmbedding(next, { name: 'next', ...items, length: 'T' })
    const others = nn.sequenceEmbedding(other, { name: 'other', ...items, length: training ? 'T' : hyper.neg_num })

    const placed = mul(
      add(mul(rows, Math.sqrt(dim)), nn.placeEmbedding(mask, { name: 'position', length, dim })),
      unsqueeze(mask, 2),
    )
    const first = nn.dropout(placed, { name: 'dropout', rate: dropout_rate })
    const blocks = { mask, dim, heads: hyper.num_heads, rate: dropout_rate }
    const encoded = Array.from({ length: hyper.num_blocks }).reduce(
      (x: Tensor, _, i) => block(x, `block_${i}`, blocks),
      first,
    )
    const states = nn.layerNorm(encoded, { name: 'norm' }) // [B, T, dim]: after each item

    const user = nn.lastElement(states, mask) // [B, dim]
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

interface Blocks {
  readonly mask: Tensor
  readonly dim: number
  readonly heads: number
  /** Of dropout. */
  readonly rate: number
}

/** As in the authors' program: queries are normed and keys are not, and what is added to is the normed one. */
function block(x: Tensor, name: string, { mask, dim, heads, rate }: Blocks): Tensor {
  const attention = new nn.SelfAttention({ in: dim, heads, causal: true, project: false, dropout: rate })
  const queries = nn.layerNorm(x, { name: `${name}.norm_0` })
  const attended = add(queries, attention.named(`${name}.attention`).forward(queries, { mask, seen: x }))
  const normed = nn.layerNorm(attended, { name: `${name}.norm_1` })
  const hidden = nn.linear(normed, { name: `${name}.ffn.0`, out: dim, activation: 'relu' })
  const kept = nn.dropout(hidden, { name: `${name}.dropout_0`, rate })
  const out = nn.dropout(nn.linear(kept, { name: `${name}.ffn.1`, out: dim }), { name: `${name}.dropout_1`, rate })
  return mul(add(normed, out), unsqueeze(mask, 2))
}
