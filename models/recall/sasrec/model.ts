/** @file SASRec: what comes next, by self-attention over what came before. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import {
  add,
  cast,
  clip,
  concat,
  div,
  equal,
  gather,
  greater,
  log,
  logSoftmax,
  matmul,
  mean,
  mul,
  neg,
  reshape,
  slice,
  sub,
  sum,
  type Tensor,
  transpose,
  unsqueeze,
} from 'oarfish/nn'

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
    const items = { table: 'item_emb', dim, init: { kind: 'normal', mean: 0, std: 1 / Math.sqrt(dim) } } as const
    const { x: rows, mask } = nn.sequenceEmbedding(history, { name: 'history', ...items, length })
    const { x: own } = nn.sequenceEmbedding(next, { name: 'next', ...items, length })
    const others = nn.sequenceEmbedding(other, { name: 'other', ...items, length: training ? length : hyper.neg_num })

    const placed = mul(add(mul(rows, Math.sqrt(dim)), places(mask, dim, length)), unsqueeze(mask, 2))
    const layer = { width: dim, heads: hyper.num_heads, dropout: dropout_rate, causal: true }
    const blocks = Array.from({ length: hyper.num_blocks }, (_, i) =>
      new nn.TransformerLayer(layer).named(`block_${i}`),
    )
    const first = nn.dropout(placed, { name: 'dropout', rate: dropout_rate })
    const encoded = blocks.reduce((x, block) => block.forward(x, { mask }), first)
    const states = nn.layerNorm(encoded, { name: 'norm' }) // [B, T, dim]: after each item

    const isLast = cast(equal(placeOf(mask, length), length - 1), 'float32')
    const user = lastOf(states, isLast) // [B, dim]
    const score = sum(mul(user, lastOf(own, isLast)), 1, true) // [B, 1]
    const otherScores = reshape(matmul(unsqueeze(user, 1), transpose(others.x)), others.mask.shape)
    const above = sum(mul(cast(greater(otherScores, score), 'float32'), others.mask), 1, true) // [B, 1]: its rank from 0
    const isHit = cast(greater(hyper.recall_k, above), 'float32')
    return {
      loss: training ? pairLoss(states, own, others.x, mask) : rankLoss(score, otherScores),
      hr: mean(isHit),
      ndcg: mean(mul(isHit, div(Math.LN2, log(add(above, 2))))),
      outputs: { score, user },
    }
  },

  metrics: ({ hr, ndcg }) => ({ hr: metric.mean(hr), ndcg: metric.mean(ndcg) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, beta2: 0.98, lazy: true }),
})

/** The place of each item, counted so that the last one of every history has the place length - 1: [B, T]. */
function placeOf(mask: Tensor, length: number): Tensor {
  const fromStart = nn.positions(mask.builder, length)
  return clip(add(fromStart, sub(length, sum(mask, 1, true))), 0, length)
}

/** A learned vector for each place. */
function places(mask: Tensor, dim: number, length: number): Tensor {
  const init = { kind: 'normal', mean: 0, std: 1 / Math.sqrt(dim) } as const
  const vectors = mask.builder.parameter({ name: 'position', shape: [length, dim], init })
  return gather(vectors, cast(clip(placeOf(mask, length), 0, length - 1), 'int64'))
}

/** The element of each sequence that is marked: [B, T, d], [B, T] -> [B, d]. */
function lastOf(x: Tensor, isLast: Tensor): Tensor {
  return sum(mul(x, unsqueeze(isLast, 2)), 1)
}

/** After every item: the next one against 1, the other one against 0; the mean over all items. */
function pairLoss(states: Tensor, own: Tensor, others: Tensor, mask: Tensor): Tensor {
  const against = (rows: Tensor, value: number) => {
    const scores = sum(mul(states, rows), 2) // [B, T]
    return nn.sigmoidCrossEntropy(scores, add(mul(mask, 0), value))
  }
  return div(sum(mul(add(against(own, 1), against(others, 0)), mask)), sum(mask))
}

/** Cross-entropy of the item that came next among all that are shown. */
function rankLoss(score: Tensor, others: Tensor): Tensor {
  return mean(neg(slice(logSoftmax(concat([score, others], 1)), 1, 0, 1)))
}
