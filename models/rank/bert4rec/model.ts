/** @file BERT4Rec: items of a history are hidden and guessed from what stands on both sides of them. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, cast, div, gelu, greater, log, maximum, mul, reshape, sum, type Tensor, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.0001) }),
      /** Items are numbered from 1 to this; bert4rec_reader.ts hides an item as the number after it. */
      item_num: z.int().positive().default(12_101),
      /** Items of a history that are read. */
      max_len: z.int().positive().default(50),
      hidden_size: z.int().positive().default(64),
      num_hidden_layers: z.int().positive().default(2),
      num_attention_heads: z.int().positive().default(2),
      intermediate_size: z.int().positive().default(256),
      hidden_dropout_prob: z.number().min(0).lt(1).default(0.2),
      /** How many of a history's items bert4rec_reader.ts hides. */
      masked_lm_prob: z.number().positive().lt(1).default(0.2),
      /** Items drawn a step to compare with; 0 compares with all. */
      neg_num: z.int().min(0).default(0),
      /** Of hr and ndcg. */
      recall_k: z.int().positive().default(10),
    })
    .refine(({ hidden_size, num_attention_heads }) => hidden_size % num_attention_heads === 0, {
      path: ['num_attention_heads'],
      error: 'expected heads that divide hidden_size: a head has an equal share of the columns',
    }),

  /** The history with some items hidden, and for each place the hidden item, or 0. */
  inputs: ({ sparse, dense }, { max_len }) => ({
    history: sparse('history'),
    truth: dense('truth', max_len, 'int64'),
  }),

  /** Loss and metrics are means over the hidden items; hr and ndcg rank among all items. */
  net({ history, truth }, { hidden_size: width, max_len: length, neg_num, recall_k, ...hyper }, { training }) {
    const init = { kind: 'truncated_normal', mean: 0, std: 0.02 } as const
    const { x: rows, mask } = nn.sequenceEmbedding(history, { name: 'item_emb', dim: width, init, length })
    const places = mask.builder.parameter({ name: 'position', shape: [length, width], init })
    const dropped = (x: Tensor, name: string) => nn.dropout(x, { name, rate: hyper.hidden_dropout_prob })
    const first = dropped(nn.layerNorm(add(rows, places), { name: 'norm' }), 'dropout')

    const layer = {
      width,
      heads: hyper.num_attention_heads,
      inner: hyper.intermediate_size,
      activation: 'gelu',
      dropout: hyper.hidden_dropout_prob,
      norm: 'after',
    } as const
    const layers = Array.from({ length: hyper.num_hidden_layers }, (_, i) =>
      new nn.TransformerLayer(layer).named(`layer_${i}`),
    )
    const encoded = layers.reduce((x, block) => block.forward(x, { mask }), mul(first, unsqueeze(mask, 2)))
    const states = nn.layerNorm(gelu(nn.linear(encoded, { name: 'transform', out: width })), { name: 'out_norm' })

    const items = new nn.ClassScores({ in: width, classes: hyper.item_num + 1, init }).named('items')
    const classified =
      training && neg_num > 0
        ? items.sampled(states, truth, { samples: neg_num, sampler: 'uniform' })
        : items.all(states, truth)
    const hidden = reshape(cast(greater(truth, 0), 'float32'), [-1, 1]) // [B * T, 1]
    const meanOf = (values: Tensor) => div(sum(mul(values, hidden)), maximum(sum(hidden), 1))
    const above = nn.classesAbove(classified)
    const isHit = cast(greater(recall_k, above), 'float32')
    return {
      loss: meanOf(nn.softmaxCrossEntropy(classified.logits, classified.label)),
      hr: meanOf(isHit),
      ndcg: meanOf(mul(isHit, div(Math.LN2, log(add(above, 2))))),
      outputs: { user: nn.lastElement(states, mask) },
    }
  },

  metrics: ({ hr, ndcg }) => ({ hr: metric.mean(hr), ndcg: metric.mean(ndcg) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
