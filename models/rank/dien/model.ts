/** @file DIEN: interests as they grow out of a history, and on towards the item at hand. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, div, maximum, mean, mul, sigmoid, slice, sum, type Tensor } from 'oarfish/nn'

const DECAY = { after: 410_000, rate: 0.2 }

export default defineModel({
  hyperParameters: {
    /** The rate of the first 410,000 steps; 0.2 after them. */
    optimizer: optimizerKeys('SGD', { learning_rate_base_lr: z.number().positive().default(0.85) }),
    item_emb_size: z.int().positive().default(64),
    cat_emb_size: z.int().positive().default(64),
    /** Items of a history that are read, from the first on. */
    max_len: z.int().min(2).default(32),
    /** Hidden layers of the attention and of the network on top of it. */
    fc_sizes: z.array(z.int().positive()).min(1).default([80, 40]),
    act: z.enum(['sigmoid', 'relu', 'tanh']).default('sigmoid'),
    /** How much the auxiliary loss counts. */
    aux_weight: z.number().min(0).default(1),
    /** Kept for PaddleRec's sake, as the next four: rows live in tables of no fixed size, and any reader will do. */
    is_sparse: z.boolean().default(false),
    use_DataLoader: z.boolean().default(true),
    item_count: z.int().positive().default(63_001),
    cat_count: z.int().positive().default(801),
    distributed_embedding: z.int().min(0).max(1).default(0),
  },

  /** Items with their categories: the history in order, others that were not taken, and one candidate. */
  inputs: ({ sparse, label }) => ({
    history: [sparse('hist_item_seq'), sparse('hist_cat_seq')] as const,
    others: [sparse('neg_hist_item_seq'), sparse('neg_hist_cat_seq')] as const,
    target: [sparse('target_item'), sparse('target_cat')] as const,
    label: label('label'),
  }),

  net(
    { history, others, target, label },
    { fc_sizes: sizes, act: activation, max_len: length, ...hyper },
    { training },
  ) {
    const tables = [
      { table: 'item_emb', dim: hyper.item_emb_size },
      { table: 'cat_emb', dim: hyper.cat_emb_size },
    ] as const
    const sequence = (slots: typeof history, name: string) => {
      const parts = slots.map((slot, i) => nn.sequenceEmbedding(slot, { name: `${name}_${i}`, ...tables[i]!, length }))
      return {
        x: concat(
          parts.map(({ x }) => x),
          2,
        ),
        mask: parts[0]!.mask,
      }
    }
    const { x: seen, mask } = sequence(history, 'history') // [B, T, width]
    const unseen = sequence(others, 'others').x
    const candidate = concat(
      target.map((slot, i) => nn.embedding(slot, { name: `target_${i}`, ...tables[i]! })),
      1,
    ) // [B, width]
    const width = tables[0].dim + tables[1].dim

    const states = new nn.Gru({ in: width, units: width }).named('interest').forward(seen, mask).outputs
    const attention = new nn.AttentionUnit({ width, sizes, activation }).named('attention')
    const weights = attention.weights(candidate, states, mask) // [B, T]
    const evolved = new nn.AuGru({ in: width, units: width }).named('evolution').forward(states, weights, mask).last

    const score = nn.mlp(concat([evolved, candidate], 1), { name: 'fc', sizes: [...sizes, 1], activation })
    const bias = nn.embedding(target[0], { name: 'item_b', dim: 1, init: { kind: 'constant', value: 0 } })
    const logit = add(score, bias) // [B, 1]
    const cost = mean(nn.sigmoidCrossEntropy(logit, label))
    const loss = training ? add(cost, mul(nextLoss(states, seen, unseen, mask), hyper.aux_weight)) : cost
    return { loss, outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { label }) => ({ auc: metric.auc(predict, label) }),

  optimizer({ optimizer: { learning_rate_base_lr: learningRate } }) {
    const values = [learningRate, DECAY.rate]
    return optimizer.sgd({ learningRate, schedule: { kind: 'piecewise', boundaries: [DECAY.after], values } })
  },
})

/** The state after an item should point to the item that came next and away from one that did not; the mean over all that have a next one. */
function nextLoss(states: Tensor, seen: Tensor, unseen: Tensor, mask: Tensor): Tensor {
  const has = slice(mask, 1, 1) // [B, T - 1]
  const against = (rows: Tensor, value: number) => {
    const scores = sum(mul(slice(states, 1, 0, -1), slice(rows, 1, 1)), 2)
    return nn.sigmoidCrossEntropy(scores, add(mul(has, 0), value))
  }
  return div(sum(mul(add(against(seen, 1), against(unseen, 0)), has)), maximum(sum(has), 1))
}
