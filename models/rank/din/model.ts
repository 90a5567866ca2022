/** @file DIN: what a user did before, weighed by how much it has to do with the item at hand. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, mean, sigmoid } from 'oarfish/nn'

const DECAY = { after: 410_000, rate: 0.2 }

export default defineModel({
  hyperParameters: {
    /** The rate of the first 410,000 steps; 0.2 after them. */
    optimizer: optimizerKeys('SGD', { learning_rate_base_lr: z.number().positive().default(0.85) }),
    item_emb_size: z.int().positive().default(64),
    cat_emb_size: z.int().positive().default(64),
    /** Hidden layers of the attention and of the network on top of it. */
    fc_sizes: z.array(z.int().positive()).min(1).default([80, 40]),
    act: z.enum(['sigmoid', 'relu', 'tanh']).default('sigmoid'),
    /** Kept for PaddleRec's sake, as the next four: rows live in tables of no fixed size, and any reader will do. */
    is_sparse: z.boolean().default(false),
    use_DataLoader: z.boolean().default(true),
    item_count: z.int().positive().default(63_001),
    cat_count: z.int().positive().default(801),
    distributed_embedding: z.int().min(0).max(1).default(0),
  },

  /** Items with their categories: the history in order, and one candidate. */
  inputs: ({ sparse, label }) => ({
    historyItems: sparse('hist_item_seq'),
    historyCategories: sparse('hist_cat_seq'),
    item: sparse('target_item'),
    category: sparse('target_cat'),
    label: label('label'),
  }),

  net({ historyItems, historyCategories, item, category, label }, { fc_sizes: sizes, act: activation, ...hyper }) {
    const items = { table: 'item_emb', dim: hyper.item_emb_size }
    const categories = { table: 'cat_emb', dim: hyper.cat_emb_size }
    const width = items.dim + categories.dim
    const length = 'T_history' // both are padded to one length
    const { x: seenItems, mask } = nn.sequenceEmbedding(historyItems, { name: 'hist_item', ...items, length })
    const { x: seenCategories } = nn.sequenceEmbedding(historyCategories, { name: 'hist_cat', ...categories, length })
    const history = concat([seenItems, seenCategories], 2) // [B, T, width]
    const target = concat(
      [
        nn.embedding(item, { name: 'target_item', ...items }),
        nn.embedding(category, { name: 'target_cat', ...categories }),
      ],
      1,
    ) // [B, width]

    const attention = new nn.AttentionUnit({ width, sizes, activation }).named('attention')
    const interest = nn.linear(attention.forward(target, history, mask), { name: 'interest', out: width })
    const score = nn.mlp(concat([interest, target], 1), { name: 'fc', sizes: [...sizes, 1], activation })
    const logit = add(score, nn.embedding(item, { name: 'item_b', dim: 1, init: { kind: 'constant', value: 0 } })) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, label)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { label }) => ({ auc: metric.auc(predict, label) }),

  optimizer({ optimizer: { learning_rate_base_lr: learningRate } }) {
    const values = [learningRate, DECAY.rate]
    return optimizer.sgd({ learningRate, schedule: { kind: 'piecewise', boundaries: [DECAY.after], values } })
  },
})
